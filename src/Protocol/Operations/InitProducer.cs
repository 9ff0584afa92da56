namespace EQueue.Protocol;

/// <summary>Asks for a producer id, or for the next epoch of a known one (which fences its older self).</summary>
/// <param name="TransactionalId">Reserved for transactions: null today.</param>
/// <param name="Known"><see cref="ProducerSession.None"/> for a new id.</param>
/// <remarks>Errors: ProducerFenced, UnknownProducer, StorageFull.</remarks>
public sealed record InitProducerRequest(string? TransactionalId, ProducerSession Known)
    : IRequest<InitProducerRequest, InitProducerResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.InitProducer;

    /// <inheritdoc/>
    public static InitProducerRequest Read(ref PayloadReader reader) =>
        new(reader.ReadNullableString(), new ProducerSession(reader.ReadInt64(), reader.ReadInt16()));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(TransactionalId);
        writer.WriteInt64(Known.Id);
        writer.WriteInt16(Known.Epoch);
    }
}

/// <summary>The session to send with; sequences start at 0 on every queue.</summary>
public sealed record InitProducerResponse(ProducerSession Session) : IPayload<InitProducerResponse>
{
    /// <inheritdoc/>
    public static InitProducerResponse Read(ref PayloadReader reader) =>
        new(new ProducerSession(reader.ReadInt64(), reader.ReadInt16()));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteInt64(Session.Id);
        writer.WriteInt16(Session.Epoch);
    }
}
