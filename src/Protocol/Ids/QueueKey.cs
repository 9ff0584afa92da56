using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Names one queue of a broker: its log and its id there.</summary>
/// <remarks>Encoded as log u16, queue id u32. A queue id belongs to one log: the id alone names no queue.</remarks>
public readonly record struct QueueKey(ushort Log, QueueId Id) : IPayload<QueueKey>
{
    internal const int Size = 2 + 4;

    /// <inheritdoc/>
    public static QueueKey Read(ref PayloadReader reader) =>
        new(reader.ReadUInt16(), new QueueId(reader.ReadUInt32()));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteUInt16(Log);
        writer.WriteUInt32(Id.Value);
    }
}
