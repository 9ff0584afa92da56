using System.Buffers.Binary;

namespace EQueue.Protocol;

/// <summary>The fixed head of a produce request; its batches follow, see <see cref="ProduceBatchHeader"/>.</summary>
/// <remarks>
/// <code>
/// offset size field
/// 0      1    acknowledgement level (Durability)
/// 1      1    flags (0)
/// 2      2    reserved (0)
/// 4      4    deadline, i32 ms from arrival; parked requests past it are dropped, never appended; 0 = none
/// 8      8    transaction id, i64; 0 = none
/// 16     4    batch count, u32, 1 or more
/// </code>
/// Oneway requests get no answer and carry batches without a producer session.
/// Answer: <see cref="ProduceResponse"/>. Errors per batch: UnknownQueue, QueueNotWritable, MessageTooLarge,
/// CorruptBatch, InvalidBatch, OutOfOrderSequence, ProducerFenced, UnknownProducer, QueueFull, StorageFull,
/// StoreFaulted, Throttled, Timeout.
/// </remarks>
/// <param name="Durability">When the answer is due.</param>
/// <param name="DeadlineMs">Milliseconds the broker may park the request; 0 = its own limit.</param>
/// <param name="TransactionId">0 = none.</param>
/// <param name="BatchCount">Batches that follow, 1 or more.</param>
public readonly record struct ProduceRequestHeader(
    Durability Durability, int DeadlineMs, long TransactionId, int BatchCount)
{
    /// <summary>Bytes of an encoded head.</summary>
    public const int Size = 20;

    /// <summary>Writes <see cref="Size"/> bytes.</summary>
    public void Write(Span<byte> destination)
    {
        destination[..Size].Clear();
        destination[0] = (byte)Durability;
        BinaryPrimitives.WriteInt32LittleEndian(destination[4..], DeadlineMs);
        BinaryPrimitives.WriteInt64LittleEndian(destination[8..], TransactionId);
        BinaryPrimitives.WriteInt32LittleEndian(destination[16..], BatchCount);
    }

    /// <summary>Reads and checks a head.</summary>
    public static bool TryRead(ReadOnlySpan<byte> payload, out ProduceRequestHeader header)
    {
        header = default;
        if (payload.Length < Size || payload[0] > (byte)Durability.Durable || payload[1] != 0)
            return false;
        header = new ProduceRequestHeader(
            (Durability)payload[0],
            BinaryPrimitives.ReadInt32LittleEndian(payload[4..]),
            BinaryPrimitives.ReadInt64LittleEndian(payload[8..]),
            BinaryPrimitives.ReadInt32LittleEndian(payload[16..]));
        return header.DeadlineMs >= 0
            && header.BatchCount > 0
            && header.BatchCount <= (payload.Length - Size) / ProduceBatchHeader.Size;
    }
}

/// <summary>What stands before each batch of a produce request; the batch's bytes follow at once.</summary>
/// <remarks>
/// <code>
/// offset size field
/// 0      4    queue id, u32
/// 4      2    log, u16
/// 6      2    flags, u16 (bit 0: deliverAt present)
/// 8      4    epoch the sender knows, i32; -1 = none
/// 12     4    tag bits, u32; all ones = unknown
/// 16     4    batch size, u32
/// 20     8    deliverAt, i64 Unix ms, only with bit 0
/// </code>
/// </remarks>
/// <param name="Queue">The queue.</param>
/// <param name="Log">The log it lives in.</param>
/// <param name="KnownEpoch">-1 = none.</param>
/// <param name="TagBits">OR over the records' tag bits.</param>
/// <param name="BatchSize">Bytes that follow.</param>
public readonly record struct ProduceBatchHeader(QueueId Queue, ushort Log, int KnownEpoch, uint TagBits, int BatchSize)
{
    /// <summary>Bytes of an encoded header without optional fields.</summary>
    public const int Size = 20;

    /// <summary>Writes <see cref="Size"/> bytes.</summary>
    public void Write(Span<byte> destination)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(destination, Queue.Value);
        BinaryPrimitives.WriteUInt16LittleEndian(destination[4..], Log);
        BinaryPrimitives.WriteUInt16LittleEndian(destination[6..], 0);
        BinaryPrimitives.WriteInt32LittleEndian(destination[8..], KnownEpoch);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[12..], TagBits);
        BinaryPrimitives.WriteInt32LittleEndian(destination[16..], BatchSize);
    }

    /// <summary>Reads the header at the start of <paramref name="rest"/>; its batch is then known to fit.</summary>
    public static bool TryRead(ReadOnlySpan<byte> rest, out ProduceBatchHeader header)
    {
        header = default;
        if (rest.Length < Size || BinaryPrimitives.ReadUInt16LittleEndian(rest[6..]) != 0)
            return false;
        header = new ProduceBatchHeader(
            new QueueId(BinaryPrimitives.ReadUInt32LittleEndian(rest)),
            BinaryPrimitives.ReadUInt16LittleEndian(rest[4..]),
            BinaryPrimitives.ReadInt32LittleEndian(rest[8..]),
            BinaryPrimitives.ReadUInt32LittleEndian(rest[12..]),
            BinaryPrimitives.ReadInt32LittleEndian(rest[16..]));
        return header.BatchSize > 0 && header.BatchSize <= rest.Length - Size;
    }
}

/// <summary>
/// The answer to a produce request: a head, then one <see cref="ProduceResult"/> per batch, in order.
/// </summary>
/// <remarks>
/// <code>
/// offset size field
/// 0      4    throttled, i32 ms for which a quota held the answer
/// 4      4    result count, u32
/// </code>
/// </remarks>
public static class ProduceResponse
{
    /// <summary>Bytes before the first result.</summary>
    public const int HeaderSize = 8;

    /// <summary>Bytes of an answer with <paramref name="count"/> results.</summary>
    public static int SizeOf(int count) => HeaderSize + (count * ProduceResult.Size);

    /// <summary>Writes the head.</summary>
    public static void WriteHeader(Span<byte> destination, int throttleMs, int count)
    {
        BinaryPrimitives.WriteInt32LittleEndian(destination, throttleMs);
        BinaryPrimitives.WriteInt32LittleEndian(destination[4..], count);
    }

    /// <summary>Reads the head and checks that the results fit exactly.</summary>
    public static bool TryReadHeader(ReadOnlySpan<byte> payload, out int throttleMs, out int count)
    {
        throttleMs = count = 0;
        if (payload.Length < HeaderSize)
            return false;
        throttleMs = BinaryPrimitives.ReadInt32LittleEndian(payload);
        count = BinaryPrimitives.ReadInt32LittleEndian(payload[4..]);
        return count >= 0 && payload.Length - HeaderSize == (long)count * ProduceResult.Size;
    }
}

/// <summary>What became of one batch.</summary>
/// <remarks>
/// <code>
/// offset size field
/// 0      2    error, u16 (DuplicateSequence is a success: first offset and epoch are the original's)
/// 2      1    level reached (Durability)
/// 3      1    reserved (0)
/// 4      4    epoch, i32
/// 8      8    first offset, i64
/// 16     8    stored time, i64 Unix ms
/// 24     4    retry after, i32 ms; 0 = no advice
/// </code>
/// </remarks>
/// <param name="Error">None or DuplicateSequence: stored.</param>
/// <param name="Level">Written or durable.</param>
/// <param name="Epoch">The log's epoch.</param>
/// <param name="FirstOffset">Offset of the batch's first message.</param>
/// <param name="StoredTimeMs">Unix milliseconds.</param>
/// <param name="RetryAfterMs">0 = no advice.</param>
public readonly record struct ProduceResult(
    ErrorCode Error, Durability Level, int Epoch, QueueOffset FirstOffset, long StoredTimeMs, int RetryAfterMs)
{
    /// <summary>Bytes of an encoded result.</summary>
    public const int Size = 28;

    /// <summary>Whether the batch is stored, now or before.</summary>
    public bool IsStored => Error is ErrorCode.None or ErrorCode.DuplicateSequence;

    /// <summary>Writes <see cref="Size"/> bytes.</summary>
    public void Write(Span<byte> destination)
    {
        BinaryPrimitives.WriteUInt16LittleEndian(destination, (ushort)Error);
        destination[2] = (byte)Level;
        destination[3] = 0;
        BinaryPrimitives.WriteInt32LittleEndian(destination[4..], Epoch);
        BinaryPrimitives.WriteInt64LittleEndian(destination[8..], FirstOffset.Value);
        BinaryPrimitives.WriteInt64LittleEndian(destination[16..], StoredTimeMs);
        BinaryPrimitives.WriteInt32LittleEndian(destination[24..], RetryAfterMs);
    }

    /// <summary>
    /// Reads the result at the start of <paramref name="source"/>, which holds <see cref="Size"/> bytes or more.
    /// </summary>
    public static ProduceResult Read(ReadOnlySpan<byte> source) => new(
        (ErrorCode)BinaryPrimitives.ReadUInt16LittleEndian(source),
        (Durability)source[2],
        BinaryPrimitives.ReadInt32LittleEndian(source[4..]),
        new QueueOffset(BinaryPrimitives.ReadInt64LittleEndian(source[8..])),
        BinaryPrimitives.ReadInt64LittleEndian(source[16..]),
        BinaryPrimitives.ReadInt32LittleEndian(source[24..]));
}
