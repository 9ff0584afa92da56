using System.Runtime.InteropServices;

namespace EQueue.Client;

/// <summary>Where the parts of one record stand in the bytes of its batch: keeps no bytes, so it can be stored and
/// read later.</summary>
/// <remarks>Starts count from the first byte of the batch; a length of -1 means null.</remarks>
[StructLayout(LayoutKind.Auto)]
public struct RecordRange
{
    /// <summary>Offset minus the batch's base offset.</summary>
    public int OffsetDelta { readonly get; internal set; }

    /// <summary>Timestamp minus the batch's base timestamp; ms.</summary>
    public long TimestampDelta { readonly get; internal set; }

    /// <summary>First byte of the key.</summary>
    public int KeyStart { readonly get; internal set; }

    /// <summary>Bytes of the key; -1: null.</summary>
    public int KeyLength { readonly get; internal set; }

    /// <summary>First byte of the body.</summary>
    public int BodyStart { readonly get; internal set; }

    /// <summary>Bytes of the body; -1: null.</summary>
    public int BodyLength { readonly get; internal set; }

    /// <summary>First byte of the tag.</summary>
    public int TagStart { readonly get; internal set; }

    /// <summary>Bytes of the tag; -1: none.</summary>
    public int TagLength { readonly get; internal set; }

    /// <summary>First byte of the headers.</summary>
    public int HeadersStart { readonly get; internal set; }

    /// <summary>Headers of the record, the tag included.</summary>
    public int HeadersCount { readonly get; internal set; }

    /// <summary>The record over the batch it was read from.</summary>
    public readonly RecordView In(ReadOnlySpan<byte> batch) => new(batch, this);
}
