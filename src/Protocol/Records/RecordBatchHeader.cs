using static System.Buffers.Binary.BinaryPrimitives;
using At = EQueue.Protocol.RecordBatchLayout;

namespace EQueue.Protocol;

/// <summary>The 61 bytes before a batch's records, read in place. Got from <see
/// cref="RecordBatch.TryReadHeader"/>.</summary>
/// <remarks>Layout: <see cref="RecordBatchLayout"/>. Valid as long as the bytes it was read from.</remarks>
public readonly ref struct RecordBatchHeader
{
    private const int CodecMask = 0x07;
    private const int StoredTimeBit = 0x08;
    private const int TransactionalBit = 0x10;
    private const int ControlBit = 0x20;

    private readonly ReadOnlySpan<byte> _bytes;

    internal RecordBatchHeader(ReadOnlySpan<byte> bytes) => _bytes = bytes[..At.HeaderSize];

    /// <summary>Offset of the first record.</summary>
    public QueueOffset BaseOffset => new(ReadInt64BigEndian(_bytes));

    /// <summary>Bytes of the whole batch, header included.</summary>
    public int TotalSize => At.LengthPrefix + ReadInt32BigEndian(_bytes[At.Length..]);

    /// <summary>Epoch of the log that stamped the batch.</summary>
    public int LeaderEpoch => ReadInt32BigEndian(_bytes[At.LeaderEpoch..]);

    /// <summary>The CRC-32C that the batch claims.</summary>
    public uint Crc => ReadUInt32BigEndian(_bytes[At.Crc..]);

    /// <summary>All flags.</summary>
    public short Attributes => ReadInt16BigEndian(_bytes[At.Attributes..]);

    /// <summary>How the records are compressed; values without a name are possible.</summary>
    public RecordCodec Codec => (RecordCodec)(Attributes & CodecMask);

    /// <summary>Whether timestamps are the time of storing rather than of creation.</summary>
    public bool HasStoredTimestamps => (Attributes & StoredTimeBit) != 0;

    /// <summary>Whether the batch is part of a transaction.</summary>
    public bool IsTransactional => (Attributes & TransactionalBit) != 0;

    /// <summary>Whether the batch carries a marker for readers instead of messages.</summary>
    public bool IsControl => (Attributes & ControlBit) != 0;

    /// <summary>Offset of the last record minus <see cref="BaseOffset"/>: 0 or more.</summary>
    public int LastOffsetDelta => ReadInt32BigEndian(_bytes[At.LastOffsetDelta..]);

    /// <summary>The time that records' timestamp deltas count from; ms since 1970-01-01 UTC.</summary>
    public long BaseTimestamp => ReadInt64BigEndian(_bytes[At.BaseTimestamp..]);

    /// <summary>The largest timestamp of the batch; ms since 1970-01-01 UTC.</summary>
    public long MaxTimestamp => ReadInt64BigEndian(_bytes[At.MaxTimestamp..]);

    /// <summary>Who sent the batch.</summary>
    public ProducerSession Producer =>
        new(ReadInt64BigEndian(_bytes[At.ProducerId..]), ReadInt16BigEndian(_bytes[At.ProducerEpoch..]));

    /// <summary>Sequence of the first record; -1 without an idempotent producer.</summary>
    public int BaseSequence => ReadInt32BigEndian(_bytes[At.BaseSequence..]);

    /// <summary>Records present: 0 to <see cref="LastOffsetDelta"/> + 1.</summary>
    public int RecordsCount => ReadInt32BigEndian(_bytes[At.RecordsCount..]);

    /// <summary>Offset of the record behind the batch.</summary>
    public QueueOffset NextOffset => new(BaseOffset.Value + LastOffsetDelta + 1);
}
