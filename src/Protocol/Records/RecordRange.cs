using System.Runtime.InteropServices;

namespace EQueue.Protocol;

/// <summary>Where the parts of one record stand in the bytes of its batch: keeps no bytes, so it can be stored and
/// read later.</summary>
/// <remarks>Starts count from the first byte of the batch; a length of -1 means null.</remarks>
[StructLayout(LayoutKind.Auto)]
public readonly struct RecordRange
{
    /// <summary>Offset minus the batch's base offset.</summary>
    public int OffsetDelta { get; init; }

    /// <summary>Timestamp minus the batch's base timestamp; ms.</summary>
    public long TimestampDelta { get; init; }

    /// <summary>First byte of the key.</summary>
    public int KeyStart { get; init; }

    /// <summary>Bytes of the key; -1: null.</summary>
    public int KeyLength { get; init; }

    /// <summary>First byte of the body.</summary>
    public int BodyStart { get; init; }

    /// <summary>Bytes of the body; -1: null.</summary>
    public int BodyLength { get; init; }

    /// <summary>First byte of the tag.</summary>
    public int TagStart { get; init; }

    /// <summary>Bytes of the tag; -1: none.</summary>
    public int TagLength { get; init; }

    /// <summary>First byte of the headers.</summary>
    public int HeadersStart { get; init; }

    /// <summary>Headers of the record, the tag included.</summary>
    public int HeadersCount { get; init; }

    /// <summary>The record over the batch it was read from.</summary>
    public RecordView In(ReadOnlySpan<byte> batch) => new(batch, this);
}
