using System.Buffers;
using System.Collections.Immutable;
using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>
/// A topic as the log's state holds it. Its queues are the store's own records, under the same topic id.
/// </summary>
/// <remarks>
/// State record of kind <see cref="Kind"/>; key = the name in UTF-8; value, little-endian:
/// <code>
/// at  size  field
///  0   1    version of this layout: 0, or 1 when a queue may not be written or not be read
///  1  16    topic id
/// 17   8    created, i64 Unix ms
/// 25   -    settings, all present (TopicSettings)
///  -   4    version 1: count of such queues, u32; then of each, by number:
///      4    number, i32
///      1    bit 0 writable, bit 1 readable; not both
/// </code>
/// </remarks>
internal sealed record TopicRecord(string Name, TopicId Id, long CreatedMs, TopicSettings Settings)
{
    public const byte Kind = 64;

    private const byte Version = 0;
    private const byte VersionWithQueues = 1;
    private const int QueueSize = sizeof(int) + sizeof(byte);
    private const QueueState Open = QueueState.Writable | QueueState.Readable;

    /// <summary>What is left to the queues that may not be written or not be read, by number.</summary>
    public ImmutableSortedDictionary<int, QueueState> Limited { get; init; } =
        ImmutableSortedDictionary<int, QueueState>.Empty;

    /// <summary>Whether a queue may be written and read.</summary>
    public QueueState StateOf(int number) => Limited.GetValueOrDefault(number, Open);

    /// <summary>This topic with other states of some queues.</summary>
    /// <param name="numbers">The queues.</param>
    /// <param name="mask">Writable, Readable or both: what changes.</param>
    /// <param name="state">To what.</param>
    public TopicRecord With(IEnumerable<int> numbers, QueueState mask, QueueState state)
    {
        var limited = Limited.ToBuilder();
        foreach (int number in numbers)
        {
            QueueState next = (StateOf(number) & ~mask) | (state & mask);
            if (next == Open)
                limited.Remove(number);
            else
                limited[number] = next;
        }

        return this with { Limited = limited.ToImmutable() };
    }

    public StateEntry ToEntry()
    {
        var value = new ArrayBufferWriter<byte>(96);
        var writer = new PayloadWriter(value);
        writer.WriteByte(Limited.IsEmpty ? Version : VersionWithQueues);
        writer.WriteGuid(Id.Value);
        writer.WriteInt64(CreatedMs);
        Settings.Write(writer);
        if (!Limited.IsEmpty)
        {
            writer.WriteCount(Limited.Count);
            foreach ((int number, QueueState state) in Limited)
            {
                writer.WriteInt32(number);
                writer.WriteByte((byte)state);
            }
        }

        return new StateEntry(Kind, Encoding.UTF8.GetBytes(Name), value.WrittenMemory);
    }

    public static StateEntry Removed(string name) => new(Kind, Encoding.UTF8.GetBytes(name), null);

    public static string ReadKey(in StateRecord record) => Encoding.UTF8.GetString(record.Key);

    /// <exception cref="InvalidDataException">The record is not one that this version wrote.</exception>
    public static TopicRecord Read(in StateRecord record)
    {
        string name = ReadKey(record);
        var reader = new PayloadReader(record.Value);
        byte version = reader.ReadByte();
        if (version > VersionWithQueues)
        {
            throw new InvalidDataException(
                $"Topic record of '{name}' has version {version}; this build reads 0 to {VersionWithQueues}.");
        }

        var topic = new TopicRecord(
            name, new TopicId(reader.ReadGuid()), reader.ReadInt64(), TopicSettings.Read(ref reader))
        {
            Limited = version == VersionWithQueues
                ? ReadLimited(ref reader)
                : ImmutableSortedDictionary<int, QueueState>.Empty,
        };
        if (!reader.IsComplete)
            throw new InvalidDataException($"Topic record of '{name}' does not fit its {record.Value.Length} bytes.");
        return topic;
    }

    private static ImmutableSortedDictionary<int, QueueState> ReadLimited(ref PayloadReader reader)
    {
        ImmutableSortedDictionary<int, QueueState>.Builder limited =
            ImmutableSortedDictionary.CreateBuilder<int, QueueState>();
        int count = reader.ReadCount(QueueSize);
        for (int i = 0; i < count; i++)
        {
            int number = reader.ReadInt32();
            var state = (QueueState)reader.ReadByte();
            if (number < 0 || state >= Open)
                reader.Fail();
            limited[number] = state;
        }

        return limited.ToImmutable();
    }
}
