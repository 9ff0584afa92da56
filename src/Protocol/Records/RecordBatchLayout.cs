namespace EQueue.Protocol;

/// <summary>Where each field of a record batch header stands. All integers are big-endian.</summary>
/// <remarks>
/// Kafka's record batch, magic 2. The CRC-32C covers everything from <see cref="Attributes"/> to the end of the batch.
/// <code>
/// at  size  field
///  0     8  base offset             stamped by the broker
///  8     4  length                  bytes behind this field: total - 12
/// 12     4  leader epoch            stamped by the broker
/// 16     1  magic                   2
/// 17     4  CRC-32C                 over 21..end
/// 21     2  attributes              bits 0-2 codec, 3 stored-time stamps, 4 transactional, 5 control
/// 23     4  last offset delta
/// 27     8  base timestamp          ms since 1970-01-01 UTC
/// 35     8  max timestamp           ms since 1970-01-01 UTC
/// 43     8  producer id             -1: none
/// 51     2  producer epoch          -1: none
/// 53     4  base sequence           -1: none
/// 57     4  records count
/// 61        records, compressed as one block when the codec says so
/// </code>
/// </remarks>
public static class RecordBatchLayout
{
    /// <summary>i64: offset of the first record.</summary>
    public const int BaseOffset = 0;

    /// <summary>i32: bytes that follow this field.</summary>
    public const int Length = 8;

    /// <summary>i32: epoch of the log that stamped the batch.</summary>
    public const int LeaderEpoch = 12;

    /// <summary>i8: version of the batch format.</summary>
    public const int Magic = 16;

    /// <summary>u32: CRC-32C of the bytes from <see cref="Attributes"/> to the end.</summary>
    public const int Crc = 17;

    /// <summary>i16: flags; the first byte that the CRC covers.</summary>
    public const int Attributes = 21;

    /// <summary>i32: offset of the last record minus the base offset; also counts records that compaction
    /// removed.</summary>
    public const int LastOffsetDelta = 23;

    /// <summary>i64: the time that records' timestamp deltas count from.</summary>
    public const int BaseTimestamp = 27;

    /// <summary>i64: the largest timestamp of the batch.</summary>
    public const int MaxTimestamp = 35;

    /// <summary>i64: who sent it.</summary>
    public const int ProducerId = 43;

    /// <summary>i16: which life of the producer.</summary>
    public const int ProducerEpoch = 51;

    /// <summary>i32: sequence of the first record.</summary>
    public const int BaseSequence = 53;

    /// <summary>i32: records present.</summary>
    public const int RecordsCount = 57;

    /// <summary>Bytes of the header; the records start here.</summary>
    public const int HeaderSize = 61;

    /// <summary>Bytes that the length field does not count.</summary>
    public const int LengthPrefix = Length + sizeof(int);

    /// <summary>The only magic that is understood.</summary>
    public const byte CurrentMagic = 2;

    /// <summary>Bytes of the shortest record: no key, no body, no headers.</summary>
    public const int MinRecordSize = 7;

    /// <summary>The most bytes that a record takes beside its key, body and headers.</summary>
    public const int MaxRecordOverhead = 1 + (5 * VarInt.MaxSize32) + VarInt.MaxSize64;
}
