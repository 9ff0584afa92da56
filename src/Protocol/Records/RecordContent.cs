using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>What goes into a record. What is not set is absent.</summary>
public readonly ref struct RecordContent
{
    /// <summary>The name of the record header that carries the tag; no property may have it.</summary>
    public const string TagHeaderName = "eq-tag";

    /// <summary><see cref="TagHeaderName"/> in UTF-8.</summary>
    public static ReadOnlySpan<byte> TagHeaderNameUtf8 => "eq-tag"u8;

    /// <summary>What stands between the body and the tag's length when the tag is the only header: headers count 1,
    /// name length 6 (both zigzag) and the name, as one little-endian word.</summary>
    internal const ulong LoneTagPrefix = 0x67_61_74_2D_71_65_0C_02;

    /// <summary>The ordering key.</summary>
    public OptionalBytes Key { get; init; }

    /// <summary>The message itself.</summary>
    public OptionalBytes Body { get; init; }

    /// <summary>The filter word in UTF-8.</summary>
    public OptionalBytes Tag { get; init; }

    /// <summary>Name-value pairs; null for none.</summary>
    public RecordProperties? Properties { get; init; }

    /// <summary>The record's share in its batch's tag bits.</summary>
    public uint TagBits => Tag.HasValue ? Protocol.TagBits.Of(Tag.Value) : Protocol.TagBits.Untagged;

    internal int HeadersCount => (Tag.HasValue ? 1 : 0) + (Properties?.Count ?? 0);

    internal long HeadersSize
    {
        get
        {
            long size = Properties?.Encoded.Length ?? 0;
            if (Tag.HasValue)
                size += 1 + TagHeaderNameUtf8.Length + VarInt.SizeOf(Tag.Value.Length) + Tag.Value.Length;
            return size;
        }
    }
}
