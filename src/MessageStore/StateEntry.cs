namespace EQueue.MessageStore;

/// <summary>One change of state to append or to snapshot: an absolute value under a key.</summary>
/// <param name="Kind">What the key names; 64-255 are the state machine's.</param>
/// <param name="Key">Which one; at most 64 KiB.</param>
/// <param name="Value">Its value from now on; <see langword="null"/> removes the key.</param>
public readonly record struct StateEntry(byte Kind, ReadOnlyMemory<byte> Key, ReadOnlyMemory<byte>? Value)
{
    /// <summary>Removes a key. (A <see langword="null"/> array would become an empty value on the way into the
    /// constructor.)</summary>
    public static StateEntry Removal(byte kind, ReadOnlyMemory<byte> key) => new(kind, key, Value: null);

    /// <summary>The same as the state machine sees it.</summary>
    public StateRecord AsRecord() =>
        new(Kind, Key.Span, Value is { } value ? value.Span : default, Value is null);
}
