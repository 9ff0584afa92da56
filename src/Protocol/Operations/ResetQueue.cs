using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A queue that was set.</summary>
/// <param name="Topic">The topic's name.</param>
/// <param name="Number">The queue's number in the topic.</param>
/// <param name="Error">None, or why it stays as it is.</param>
/// <param name="From">What was committed; -1 = nothing.</param>
/// <param name="To">What is committed now; -1 with an error.</param>
public sealed record ResetQueue(string Topic, int Number, ErrorCode Error, QueueOffset From, QueueOffset To)
    : IPayload<ResetQueue>
{
    internal const int MinSize = 2 + 4 + 2 + 8 + 8;

    /// <inheritdoc/>
    public static ResetQueue Read(ref PayloadReader reader) => new(
        reader.ReadString(),
        reader.ReadInt32(),
        (ErrorCode)reader.ReadUInt16(),
        new QueueOffset(reader.ReadInt64()),
        new QueueOffset(reader.ReadInt64()));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Topic);
        writer.WriteInt32(Number);
        writer.WriteUInt16((ushort)Error);
        writer.WriteInt64(From.Value);
        writer.WriteInt64(To.Value);
    }
}
