namespace EQueue.MessageStore;

/// <summary>One change of state out of the log: an absolute value under a key, valid only during the call that gives
/// it.</summary>
public readonly ref struct StateRecord
{
    /// <summary>The first kind that belongs to the state machine; below are the store's own.</summary>
    public const byte FirstMachineKind = 64;

    /// <summary>Makes a record with a value.</summary>
    public StateRecord(byte kind, ReadOnlySpan<byte> key, ReadOnlySpan<byte> value, bool isDeleted)
    {
        Kind = kind;
        Key = key;
        Value = value;
        IsDeleted = isDeleted;
    }

    /// <summary>What the key names; 64-255 are the state machine's.</summary>
    public byte Kind { get; }

    /// <summary>Which one.</summary>
    public ReadOnlySpan<byte> Key { get; }

    /// <summary>Its value from now on; empty when deleted.</summary>
    public ReadOnlySpan<byte> Value { get; }

    /// <summary>Whether the key is gone.</summary>
    public bool IsDeleted { get; }
}
