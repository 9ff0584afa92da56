namespace EQueue.Client;

/// <summary>How the records of a batch are compressed: bits 0-2 of the attributes.</summary>
public enum RecordCodec
{
    /// <summary>Not at all.</summary>
    None = 0,

    /// <summary>gzip.</summary>
    Gzip = 1,

    /// <summary>Snappy, one raw block or in xerial framing.</summary>
    Snappy = 2,

    /// <summary>One LZ4 frame.</summary>
    Lz4 = 3,

    /// <summary>Zstandard.</summary>
    Zstd = 4,
}
