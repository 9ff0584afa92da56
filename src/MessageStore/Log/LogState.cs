using System.Buffers.Binary;
using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>
/// The state that state records make: the store's queues and producers, and the state machine's own. The one place
/// that understands the
/// store's kinds; used live (under the log's lock), for snapshots and on replay.
/// </summary>
/// <remarks>
/// <code>
/// kind                 key            value (little-endian; topic id as RFC 9562 writes it)
///  1 queue opened      queue id u32   topic id 16 B, number u32
///  2 queue start       queue id u32   first offset that may be read i64, bytes of the entries before it i64
///  3 queue removed     queue id u32   empty
///  4 producer ids      empty          next producer id i64: all below were given out
///  5 producer epoch    producer id i64  epoch i16, given at i64 (Unix ms)
///  6 producer removed  producer id i64  empty
/// 17 time reset        empty          stored time from here on i64 (Unix ms): what was stored before is no later
/// </code>
/// </remarks>
internal sealed class LogState(QueueTable queues, ProducerTable producers, IStateMachine machine)
{
    public const byte QueueOpened = 1;
    public const byte QueueStart = 2;
    public const byte QueueRemoved = 3;
    public const byte ProducerIds = 4;
    public const byte ProducerEpoch = 5;
    public const byte ProducerRemoved = 6;
    public const byte TimeReset = 17;

    private const int QueueKeySize = 4;
    private const int QueueValueSize = TopicId.Size + 4;
    private const int QueueStartSize = 8 + 8;
    private const int ProducerKeySize = 8;
    private const int ProducerValueSize = 2 + 8;

    public QueueTable Queues { get; } = queues;

    public ProducerTable Producers { get; } = producers;

    public IStateMachine Machine { get; } = machine;

    public TimeResets TimeResets { get; } = new();

    public static StateEntry OpenQueue(QueueId id, TopicId topic, int number)
    {
        byte[] value = new byte[QueueValueSize];
        topic.Value.TryWriteBytes(value, bigEndian: true, out _);
        BinaryPrimitives.WriteInt32LittleEndian(value.AsSpan(TopicId.Size), number);
        return new StateEntry(QueueOpened, KeyOf(id), value);
    }

    public static StateEntry SetStart(QueueId id, QueueOffset start, long startBytes)
    {
        byte[] value = new byte[QueueStartSize];
        BinaryPrimitives.WriteInt64LittleEndian(value, start.Value);
        BinaryPrimitives.WriteInt64LittleEndian(value.AsSpan(8), startBytes);
        return new StateEntry(QueueStart, KeyOf(id), value);
    }

    public static StateEntry RemoveQueue(QueueId id) => new(QueueRemoved, KeyOf(id), ReadOnlyMemory<byte>.Empty);

    public static StateEntry ReserveProducerIds(long nextId)
    {
        byte[] value = new byte[8];
        BinaryPrimitives.WriteInt64LittleEndian(value, nextId);
        return new StateEntry(ProducerIds, ReadOnlyMemory<byte>.Empty, value);
    }

    public static StateEntry SetProducer(ProducerSession session, long timeMs)
    {
        byte[] value = new byte[ProducerValueSize];
        BinaryPrimitives.WriteInt16LittleEndian(value, session.Epoch);
        BinaryPrimitives.WriteInt64LittleEndian(value.AsSpan(2), timeMs);
        return new StateEntry(ProducerEpoch, KeyOf(session.Id), value);
    }

    public static StateEntry RemoveProducer(long id) => new(ProducerRemoved, KeyOf(id), ReadOnlyMemory<byte>.Empty);

    public static StateEntry ResetTime(long timeMs)
    {
        byte[] value = new byte[8];
        BinaryPrimitives.WriteInt64LittleEndian(value, timeMs);
        return new StateEntry(TimeReset, ReadOnlyMemory<byte>.Empty, value);
    }

    /// <summary>The time that a record of kind 17 sets.</summary>
    public static long TimeOf(in StateRecord record) => BinaryPrimitives.ReadInt64LittleEndian(record.Value);

    /// <summary>Takes one record. A kind below 64 that this version does not know is a change it must not ignore: it
    /// throws.</summary>
    /// <param name="record">The change.</param>
    /// <param name="endPosition">Behind the entry that holds it.</param>
    /// <exception cref="InvalidDataException">The record cannot be understood.</exception>
    public void Apply(in StateRecord record, long endPosition)
    {
        if (record.Kind >= StateRecord.FirstMachineKind)
        {
            Machine.Apply(record);
            return;
        }
        switch (record.Kind)
        {
            case QueueOpened:
                Require(record, QueueKeySize, QueueValueSize);
                var topic = new TopicId(new Guid(record.Value[..TopicId.Size], bigEndian: true));
                int number = BinaryPrimitives.ReadInt32LittleEndian(record.Value[TopicId.Size..]);
                Queues.Open(QueueOf(record), topic, number);
                break;
            case QueueStart:
                Require(record, QueueKeySize, QueueStartSize);
                if (Queues.Find(QueueOf(record)) is { } queue)
                    MoveStart(queue, record.Value, endPosition);
                break;
            case QueueRemoved:
                Require(record, QueueKeySize, 0);
                Queues.Remove(QueueOf(record), endPosition);
                break;
            case ProducerIds:
                Require(record, 0, 8);
                Producers.Reserve(BinaryPrimitives.ReadInt64LittleEndian(record.Value));
                break;
            case ProducerEpoch:
                Require(record, ProducerKeySize, ProducerValueSize);
                short epoch = BinaryPrimitives.ReadInt16LittleEndian(record.Value);
                ProducerState producer = Producers.SetEpoch(new ProducerSession(ProducerOf(record), epoch));
                long timeMs = BinaryPrimitives.ReadInt64LittleEndian(record.Value[2..]);
                producer.LastSeenMs = Math.Max(producer.LastSeenMs, timeMs);
                break;
            case ProducerRemoved:
                Require(record, ProducerKeySize, 0);
                Producers.Remove(ProducerOf(record));
                break;
            case TimeReset:
                Require(record, 0, 8);
                TimeResets.Add(endPosition, TimeOf(record));
                break;
            default:
                throw new InvalidDataException(
                    $"State record of unknown kind {record.Kind}: written by a later version?");
        }
    }

    // Never backwards: of two decisions under way at once the further one holds.
    private void MoveStart(Queue queue, ReadOnlySpan<byte> value, long position)
    {
        long start = BinaryPrimitives.ReadInt64LittleEndian(value);
        if (start > queue.Start)
            Queues.MoveStart(queue, start, BinaryPrimitives.ReadInt64LittleEndian(value[8..]), position);
    }

    /// <summary>The queue that a record of kinds 1 to 3 is about.</summary>
    public static QueueId QueueOf(in StateRecord record) => new(BinaryPrimitives.ReadUInt32LittleEndian(record.Key));

    private static byte[] KeyOf(QueueId id)
    {
        byte[] key = new byte[QueueKeySize];
        BinaryPrimitives.WriteUInt32LittleEndian(key, id.Value);
        return key;
    }

    private static byte[] KeyOf(long producerId)
    {
        byte[] key = new byte[ProducerKeySize];
        BinaryPrimitives.WriteInt64LittleEndian(key, producerId);
        return key;
    }


    private static long ProducerOf(in StateRecord record) => BinaryPrimitives.ReadInt64LittleEndian(record.Key);

    private static void Require(in StateRecord record, int keySize, int valueSize)
    {
        if (record.IsDeleted || record.Key.Length != keySize || record.Value.Length != valueSize)
        {
            throw new InvalidDataException(
                $"State record of kind {record.Kind}: expected a key of {keySize} and a value of {valueSize} bytes, "
                + $"found {record.Key.Length} and {record.Value.Length}{(record.IsDeleted ? " (deleted)" : "")}.");
        }
    }
}
