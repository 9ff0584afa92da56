using System.Buffers;
using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>
/// Names the progress of one group in one queue; of one instance of a broadcast group as <c>group/instance</c>.
/// </summary>
internal readonly record struct GroupOffsetKey(string Group, QueueKey Queue);

/// <summary>The progress of a group in a queue.</summary>
/// <remarks>
/// State record of kind <see cref="Kind"/>; key: log u16, queue id u32, then the group's name in UTF-8; value,
/// little-endian:
/// <code>
/// at  size  field
///  0   1    version of this layout: 1
///  1   8    next offset, i64
///  9   4    epoch of the last processed entry, i32; -1 = not known
/// 13   8    committed, i64 Unix ms
/// 21   8    generation in which the committer was given the queue, i64; -1 = no member's
/// 29   -    metadata: string, null allowed
/// </code>
/// Version 0 had no generation.
/// It means something only while its queue exists: queue ids are never reused, so removing a queue removes its
/// progress.
/// </remarks>
internal sealed record GroupOffset(
    QueueOffset Next, int RecordEpoch, long CommittedMs, GroupGeneration Grant, string? Metadata)
{
    public const byte Kind = 65;

    private const byte Version = 1;
    private const int KeyHeadSize = 2 + 4;

    public static StateEntry Removed(in GroupOffsetKey key) => StateEntry.Removal(Kind, WriteKey(key));

    public StateEntry ToEntry(in GroupOffsetKey key)
    {
        var value = new ArrayBufferWriter<byte>(32);
        var writer = new PayloadWriter(value);
        writer.WriteByte(Version);
        writer.WriteInt64(Next.Value);
        writer.WriteInt32(RecordEpoch);
        writer.WriteInt64(CommittedMs);
        writer.WriteInt64(Grant.Value);
        writer.WriteString(Metadata);
        return new StateEntry(Kind, WriteKey(key), value.WrittenMemory);
    }

    public static GroupOffsetKey ReadKey(in StateRecord record)
    {
        if (record.Key.Length <= KeyHeadSize)
            throw new InvalidDataException($"Group offset record has a key of {record.Key.Length} bytes.");
        var reader = new PayloadReader(record.Key);
        var queue = QueueKey.Read(ref reader);
        return new GroupOffsetKey(Encoding.UTF8.GetString(record.Key[KeyHeadSize..]), queue);
    }

    /// <exception cref="InvalidDataException">The record is not one that this version wrote.</exception>
    public static GroupOffset Read(in StateRecord record)
    {
        var reader = new PayloadReader(record.Value);
        byte version = reader.ReadByte();
        if (version > Version)
        {
            throw new InvalidDataException(
                $"Group offset record has version {version}; this build reads 0 to {Version}.");
        }

        var next = new QueueOffset(reader.ReadInt64());
        int epoch = reader.ReadInt32();
        long committedMs = reader.ReadInt64();
        var offset = new GroupOffset(
            next,
            epoch,
            committedMs,
            version == 0 ? GroupGeneration.None : new GroupGeneration(reader.ReadInt64()),
            reader.ReadNullableString());
        if (!reader.IsComplete)
            throw new InvalidDataException($"Group offset record does not fit its {record.Value.Length} bytes.");
        return offset;
    }

    private static ReadOnlyMemory<byte> WriteKey(in GroupOffsetKey key)
    {
        var bytes = new ArrayBufferWriter<byte>(KeyHeadSize + key.Group.Length);
        key.Queue.Write(new PayloadWriter(bytes));
        Encoding.UTF8.GetBytes(key.Group, bytes);
        return bytes.WrittenMemory;
    }
}
