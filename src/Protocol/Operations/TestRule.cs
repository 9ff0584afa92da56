namespace EQueue.Protocol;

/// <summary>Asks what would be decided, without doing it. Errors: InvalidArgument.</summary>
/// <param name="Principal">Who would do it; "" = who asks. To ask about others takes
/// <see cref="Permission.Administer"/>.</param>
/// <param name="Permission">What, not <see cref="Permission.All"/>.</param>
/// <param name="Resource">With what kind of thing.</param>
/// <param name="Name">Its name; "" for the broker.</param>
public sealed record TestRuleRequest(string Principal, Permission Permission, ResourceKind Resource, string Name)
    : IRequest<TestRuleRequest, TestRuleResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.TestRule;

    /// <inheritdoc/>
    public static TestRuleRequest Read(ref PayloadReader reader) => new(
        reader.ReadString(), (Permission)reader.ReadByte(), (ResourceKind)reader.ReadByte(), reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Principal);
        writer.WriteByte((byte)Permission);
        writer.WriteByte((byte)Resource);
        writer.WriteString(Name);
    }
}

/// <summary>What would be decided.</summary>
/// <param name="Principal">About whom.</param>
/// <param name="IsAllowed">Whether they may.</param>
/// <param name="Reason">Which rule decides, or why none has to, in words.</param>
public sealed record TestRuleResponse(string Principal, bool IsAllowed, string Reason) : IPayload<TestRuleResponse>
{
    /// <inheritdoc/>
    public static TestRuleResponse Read(ref PayloadReader reader) =>
        new(reader.ReadString(), reader.ReadBool(), reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Principal);
        writer.WriteBool(IsAllowed);
        writer.WriteString(Reason);
    }
}
