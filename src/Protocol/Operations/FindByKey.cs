namespace EQueue.Protocol;

/// <summary>Asks for the messages of one queue that have a key.</summary>
/// <remarks>
/// A broker looks at a bounded part of the queue for each request and says how far it came; ask on from there.
/// Errors: UnknownQueue, InvalidArgument, LimitReached.
/// </remarks>
public sealed record FindByKeyRequest : IRequest<FindByKeyRequest, FindByKeyResponse>
{
    /// <summary>The longest key that can be asked for, in bytes.</summary>
    public const int MaxKeyBytes = 64 * 1024;

    /// <summary>The most messages of one answer.</summary>
    public const int MaxMessages = 10_000;

    /// <summary>For <see cref="To"/>: everything that is visible.</summary>
    public static readonly QueueOffset VisibleEnd = new(-1);

    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.FindByKey;

    /// <summary>Which queue.</summary>
    public QueueKey Queue { get; init; }

    /// <summary>The key's bytes, at most <see cref="MaxKeyBytes"/>; may be empty. Messages without a key never
    /// match.</summary>
    public ReadOnlyMemory<byte> Key { get; init; }

    /// <summary>The first offset looked at; 0 or more.</summary>
    public QueueOffset From { get; init; }

    /// <summary>The offset to end before; <see cref="VisibleEnd"/> or 0 and more.</summary>
    public QueueOffset To { get; init; } = VisibleEnd;

    /// <summary>Messages after which to end; 1 to <see cref="MaxMessages"/>.</summary>
    public int MaxCount { get; init; }

    /// <summary>Bytes read after which to end; the broker has a bound of its own. 0 = that one.</summary>
    public int MaxBytes { get; init; }

    /// <inheritdoc/>
    public static FindByKeyRequest Read(ref PayloadReader reader)
    {
        var queue = QueueKey.Read(ref reader);
        ReadOnlySpan<byte> key = reader.ReadBytes(out bool isNull);
        if (isNull)
            reader.Fail();
        return new FindByKeyRequest
        {
            Queue = queue,
            Key = key.ToArray(),
            From = new QueueOffset(reader.ReadInt64()),
            To = new QueueOffset(reader.ReadInt64()),
            MaxCount = reader.ReadInt32(),
            MaxBytes = reader.ReadInt32(),
        };
    }

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Queue.Write(writer);
        writer.WriteBytes(Key.Span);
        writer.WriteInt64(From.Value);
        writer.WriteInt64(To.Value);
        writer.WriteInt32(MaxCount);
        writer.WriteInt32(MaxBytes);
    }
}

/// <summary>What was found, and how far the broker came.</summary>
/// <param name="Start">The queue's first offset.</param>
/// <param name="VisibleEnd">The offset after its last visible message when the look-up began.</param>
/// <param name="NextOffset">Everything before it was looked at: ask on from here while it is below the end.</param>
/// <param name="ReadBytes">Bytes that the broker read for it, decompressed ones included.</param>
/// <param name="UnreadableCount">Offsets passed over that the broker cannot look into: damaged, or compressed in
/// another way than gzip.</param>
/// <param name="Offsets">Of the messages with the key, rising.</param>
public sealed record FindByKeyResponse(
    QueueOffset Start,
    QueueOffset VisibleEnd,
    QueueOffset NextOffset,
    long ReadBytes,
    long UnreadableCount,
    IReadOnlyList<QueueOffset> Offsets) : IPayload<FindByKeyResponse>
{
    /// <inheritdoc/>
    public static FindByKeyResponse Read(ref PayloadReader reader)
    {
        var start = new QueueOffset(reader.ReadInt64());
        var visibleEnd = new QueueOffset(reader.ReadInt64());
        var next = new QueueOffset(reader.ReadInt64());
        long readBytes = reader.ReadInt64();
        long unreadableCount = reader.ReadInt64();
        var offsets = new QueueOffset[reader.ReadCount(sizeof(long))];
        for (int i = 0; i < offsets.Length; i++)
            offsets[i] = new QueueOffset(reader.ReadInt64());
        return new FindByKeyResponse(start, visibleEnd, next, readBytes, unreadableCount, offsets);
    }

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteInt64(Start.Value);
        writer.WriteInt64(VisibleEnd.Value);
        writer.WriteInt64(NextOffset.Value);
        writer.WriteInt64(ReadBytes);
        writer.WriteInt64(UnreadableCount);
        writer.WriteCount(Offsets.Count);
        foreach (QueueOffset offset in Offsets)
            writer.WriteInt64(offset.Value);
    }
}
