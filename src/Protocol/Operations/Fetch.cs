using System.Buffers.Binary;

namespace EQueue.Protocol;

/// <summary>What a fetch may see.</summary>
public enum FetchIsolation : byte
{
    /// <summary>Everything visible.</summary>
    Visible = 0,
}

/// <summary>One long poll over all queues of a fetch session.</summary>
/// <remarks>
/// A session lives with its connection. The first request (session 0, sequence 0) carries every queue; later ones carry
/// only what changed: the broker remembers each queue's next offset, so that an unchanged session costs nothing per
/// queue.
/// A sequence that is not the one expected answers UnknownFetchSession; the client then starts a new session.
/// Answer: <see cref="FetchResponseHeader"/>, then per queue with something to say a <see cref="FetchedQueueHeader"/>
/// and its entries; none when only batches without a wanted tag bit were passed over. Errors per queue: UnknownQueue,
/// QueueNotReadable, OffsetOutOfRange, DamagedData, DivergingEpoch; a queue with an error leaves the session until it
/// is named again. A value, for both sides make one for each fetch.
/// </remarks>
public readonly record struct FetchRequest : IPayload<FetchRequest>
{
    /// <summary>Asks for any bytes, up to a megabyte, without waiting.</summary>
    public FetchRequest()
    {
    }

    /// <summary>0 starts a session.</summary>
    public uint SessionId { get; init; }

    /// <summary>0 for the first request of a session, then one more each time.</summary>
    public uint Sequence { get; init; }

    /// <summary>Entry bytes to wait for; 0 answers at once.</summary>
    public int MinBytes { get; init; } = 1;

    /// <summary>Entry bytes of the whole answer; one entry is given even if it is larger.</summary>
    public int MaxBytes { get; init; } = 1 << 20;

    /// <summary>How long to wait for <see cref="MinBytes"/>, in milliseconds.</summary>
    public int MaxWaitMs { get; init; }

    /// <summary>What may be seen.</summary>
    public FetchIsolation Isolation { get; init; }

    /// <summary>Queues added to the session or moved to another offset.</summary>
    public IReadOnlyList<FetchQueue> Queues { get => field ?? []; init; }

    /// <summary>Queues that leave the session.</summary>
    public IReadOnlyList<QueueKey> Removed { get => field ?? []; init; }

    /// <inheritdoc/>
    public static FetchRequest Read(ref PayloadReader reader) => new()
    {
        SessionId = reader.ReadUInt32(),
        Sequence = reader.ReadUInt32(),
        MinBytes = ReadSize(ref reader),
        MaxBytes = ReadSize(ref reader),
        MaxWaitMs = ReadSize(ref reader),
        Isolation = (FetchIsolation)reader.ReadByte(),
        Queues = reader.ReadList<FetchQueue>(FetchQueue.Size),
        Removed = reader.ReadList<QueueKey>(QueueKey.Size),
    };

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteUInt32(SessionId);
        writer.WriteUInt32(Sequence);
        writer.WriteInt32(MinBytes);
        writer.WriteInt32(MaxBytes);
        writer.WriteInt32(MaxWaitMs);
        writer.WriteByte((byte)Isolation);
        writer.WriteList(Queues);
        writer.WriteList(Removed);
    }

    private static int ReadSize(ref PayloadReader reader)
    {
        int value = reader.ReadInt32();
        if (value < 0)
            reader.Fail();
        return value;
    }
}

/// <summary>A queue of a fetch session.</summary>
/// <param name="Queue">Which queue.</param>
/// <param name="Offset">The first message wanted.</param>
/// <param name="LastEpoch">Epoch of the last entry read; -1 = none.</param>
/// <param name="MaxBytes">Entry bytes of this queue per answer.</param>
/// <param name="TagMask">Tag bits wanted (<see cref="TagBits"/>): batches with none of them are passed over. 0 or all
/// ones = every message.</param>
/// <param name="Progress">Messages before this offset are processed; -1 = not told.</param>
public readonly record struct FetchQueue(
    QueueKey Queue, QueueOffset Offset, int LastEpoch, int MaxBytes, uint TagMask, QueueOffset Progress)
    : IPayload<FetchQueue>
{
    internal const int Size = QueueKey.Size + 8 + 4 + 4 + 4 + 8;

    /// <inheritdoc/>
    public static FetchQueue Read(ref PayloadReader reader) => new(
        QueueKey.Read(ref reader),
        new QueueOffset(reader.ReadInt64()),
        reader.ReadInt32(),
        reader.ReadInt32(),
        reader.ReadUInt32(),
        new QueueOffset(reader.ReadInt64()));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Queue.Write(writer);
        writer.WriteInt64(Offset.Value);
        writer.WriteInt32(LastEpoch);
        writer.WriteInt32(MaxBytes);
        writer.WriteUInt32(TagMask);
        writer.WriteInt64(Progress.Value);
    }
}

/// <summary>The fixed head of a fetch answer.</summary>
/// <remarks>
/// <code>
/// offset size field
/// 0      4    session id, u32
/// 4      4    sequence, u32 (the request's)
/// 8      4    throttled, i32 ms
/// 12     4    queue count, u32
/// </code>
/// </remarks>
public readonly record struct FetchResponseHeader(uint SessionId, uint Sequence, int ThrottleMs, int QueueCount)
{
    /// <summary>Bytes of an encoded head.</summary>
    public const int Size = 16;

    /// <summary>Writes <see cref="Size"/> bytes.</summary>
    public void Write(Span<byte> destination)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(destination, SessionId);
        BinaryPrimitives.WriteUInt32LittleEndian(destination[4..], Sequence);
        BinaryPrimitives.WriteInt32LittleEndian(destination[8..], ThrottleMs);
        BinaryPrimitives.WriteInt32LittleEndian(destination[12..], QueueCount);
    }

    /// <summary>Reads and checks a head.</summary>
    public static bool TryRead(ReadOnlySpan<byte> payload, out FetchResponseHeader header)
    {
        header = default;
        if (payload.Length < Size)
            return false;
        header = new FetchResponseHeader(
            BinaryPrimitives.ReadUInt32LittleEndian(payload),
            BinaryPrimitives.ReadUInt32LittleEndian(payload[4..]),
            BinaryPrimitives.ReadInt32LittleEndian(payload[8..]),
            BinaryPrimitives.ReadInt32LittleEndian(payload[12..]));
        return header.QueueCount >= 0 && header.QueueCount <= (payload.Length - Size) / FetchedQueueHeader.Size;
    }
}

/// <summary>What stands before the entries of one queue in a fetch answer.</summary>
/// <remarks>
/// <code>
/// offset size field
/// 0      4    queue id, u32
/// 4      2    log, u16
/// 6      2    error, u16
/// 8      8    start offset, i64
/// 16     8    visible end, i64
/// 24     8    next offset, i64: ask on from here, before the entries are processed
/// 32     4    diverging epoch, i32; -1 = none
/// 36     4    size of the entries, u32; they follow at once, as they are stored (entry header + batch)
/// </code>
/// </remarks>
public readonly record struct FetchedQueueHeader(
    QueueId Queue,
    ushort Log,
    ErrorCode Error,
    QueueOffset Start,
    QueueOffset VisibleEnd,
    QueueOffset Next,
    int DivergingEpoch,
    int EntriesSize)
{
    /// <summary>Bytes of an encoded header.</summary>
    public const int Size = 40;

    /// <summary>Writes <see cref="Size"/> bytes.</summary>
    public void Write(Span<byte> destination)
    {
        BinaryPrimitives.WriteUInt32LittleEndian(destination, Queue.Value);
        BinaryPrimitives.WriteUInt16LittleEndian(destination[4..], Log);
        BinaryPrimitives.WriteUInt16LittleEndian(destination[6..], (ushort)Error);
        BinaryPrimitives.WriteInt64LittleEndian(destination[8..], Start.Value);
        BinaryPrimitives.WriteInt64LittleEndian(destination[16..], VisibleEnd.Value);
        BinaryPrimitives.WriteInt64LittleEndian(destination[24..], Next.Value);
        BinaryPrimitives.WriteInt32LittleEndian(destination[32..], DivergingEpoch);
        BinaryPrimitives.WriteInt32LittleEndian(destination[36..], EntriesSize);
    }

    /// <summary>Reads the header at the start of <paramref name="rest"/>; its entries are then known to fit.</summary>
    public static bool TryRead(ReadOnlySpan<byte> rest, out FetchedQueueHeader header)
    {
        header = default;
        if (rest.Length < Size)
            return false;
        header = new FetchedQueueHeader(
            new QueueId(BinaryPrimitives.ReadUInt32LittleEndian(rest)),
            BinaryPrimitives.ReadUInt16LittleEndian(rest[4..]),
            (ErrorCode)BinaryPrimitives.ReadUInt16LittleEndian(rest[6..]),
            new QueueOffset(BinaryPrimitives.ReadInt64LittleEndian(rest[8..])),
            new QueueOffset(BinaryPrimitives.ReadInt64LittleEndian(rest[16..])),
            new QueueOffset(BinaryPrimitives.ReadInt64LittleEndian(rest[24..])),
            BinaryPrimitives.ReadInt32LittleEndian(rest[32..]),
            BinaryPrimitives.ReadInt32LittleEndian(rest[36..]));
        return header.EntriesSize >= 0 && header.EntriesSize <= rest.Length - Size;
    }
}
