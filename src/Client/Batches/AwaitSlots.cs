namespace EQueue.Client;

/// <summary>Where the continuations of a batch's awaits are kept: a slot for each message, made by the block.</summary>
internal readonly struct AwaitSlots()
{
    private const int BlockSize = 256;

    private readonly Slot[]?[] _blocks = new Slot[]?[SendBatch.MaxRecords / BlockSize];

    /// <summary>Whether a message's slot was made.</summary>
    public bool Has(int index) => _blocks[index / BlockSize] is not null;

    /// <summary>Makes the slot of a message.</summary>
    public void Make(int index) => _blocks[index / BlockSize] ??= new Slot[BlockSize];

    /// <summary>The slot of a message; an empty one where none was made.</summary>
    public ref Slot At(int index)
    {
        Slot[]? block = _blocks[index / BlockSize];
        return ref block is null ? ref Slot.Empty[0] : ref block[index % BlockSize];
    }

    /// <summary>Cleans the slots of the first messages.</summary>
    public void Clear(int used)
    {
        for (int i = 0; i < used; i += BlockSize)
        {
            if (_blocks[i / BlockSize] is { } block)
                Array.Clear(block);
        }
    }

    /// <summary>Of one await.</summary>
    internal struct Slot
    {
        /// <summary>Stands for blocks of messages without an awaitable; never written.</summary>
        public static readonly Slot[] Empty = new Slot[1];

        public Action<object?>? Continuation;
        public object? State;
        public object? Context;
    }
}
