namespace EQueue.Protocol;

/// <summary>How the records of a batch are compressed: bits 0-2 of the attributes.</summary>
public enum RecordCodec
{
    /// <summary>Not at all.</summary>
    None = 0,

    /// <summary>gzip; the only codec that is decoded here.</summary>
    Gzip = 1,

    /// <summary>Snappy in Xerial framing.</summary>
    Snappy = 2,

    /// <summary>LZ4 frames.</summary>
    Lz4 = 3,

    /// <summary>Zstandard.</summary>
    Zstd = 4,
}
