namespace EQueue.Client;

/// <summary>Bytes that may be absent: a null key is not an empty key. <c>default</c> is absent.</summary>
public readonly ref struct OptionalBytes
{
    /// <summary>Present, even when empty.</summary>
    public OptionalBytes(ReadOnlySpan<byte> value)
    {
        Value = value;
        HasValue = true;
    }

    /// <summary>The bytes; empty when absent.</summary>
    public ReadOnlySpan<byte> Value { get; }

    /// <summary>Whether there is a value.</summary>
    public bool HasValue { get; }

    /// <summary>Bytes as a record counts them: -1 when absent.</summary>
    internal int CountedLength => HasValue ? Value.Length : -1;

    /// <summary>A present value.</summary>
    public static implicit operator OptionalBytes(ReadOnlySpan<byte> value) => new(value);

    /// <summary>A present value, absent for null.</summary>
    public static implicit operator OptionalBytes(byte[]? value) => FromArray(value);

    /// <summary>A present value, absent for null.</summary>
    public static OptionalBytes FromArray(byte[]? value) => value is null ? default : new OptionalBytes(value);
}
