namespace EQueue.Protocol;

/// <summary>Adds a rule, or removes it; to add one that exists or to remove one that does not changes nothing. Errors:
/// InvalidArgument, LimitReached.</summary>
/// <param name="Rule">The whole of it: rules have no other name.</param>
/// <param name="IsRemoved">Whether it goes.</param>
public sealed record SetRuleRequest(AccessRule Rule, bool IsRemoved) : IRequest<SetRuleRequest, Done>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.SetRule;

    /// <inheritdoc/>
    public static SetRuleRequest Read(ref PayloadReader reader) => new(AccessRule.Read(ref reader), reader.ReadBool());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Rule.Write(writer);
        writer.WriteBool(IsRemoved);
    }
}
