namespace EQueue.Remoting;

/// <summary>A pooled, pinned block into which a connection receives, shared with the leases on frames inside
/// it.</summary>
/// <remarks>
/// Owned by one reader at a time, which alone makes leases; leases end on any thread. It returns to the pool when the
/// reader and the last lease have let go. The reader counts its leases alone, and those who end them meet at a count
/// of their own: making a lease touches nothing that others write. Each lease holds a ticket that only its first end
/// matches, so a lease that is ended twice takes nothing away from others, even when the block serves another reader
/// by then. A block without leases, as a server's, has no tickets.
/// </remarks>
internal sealed class ReceiveBlock : FrameMemory
{
    /// <summary>No two frames begin within so many bytes.</summary>
    private const int BytesPerTicket = FrameHeader.Size;

    /// <summary>What the count of ended leases comes to when the reader has let go and no lease is left.</summary>
    private const int AllEnded = 1 << 30;

    private static readonly SizeClassPool<ReceiveBlock> Pool = PinnedMemory.Pool(bytes => new ReceiveBlock(bytes));

    private int[]? _tickets;
    private PaddedCount _leases;
    private PaddedCount _ends;

    private ReceiveBlock(int bytes)
        : base(PinnedMemory.Allocate(bytes))
    {
    }

    /// <summary>Whether only the reader holds the block. Only the reader may ask.</summary>
    public bool IsUnshared => Volatile.Read(ref _ends.Value) == _leases.Value;

    /// <summary>The memory of a block that is rented with so many bytes.</summary>
    public static int CapacityOf(int bytes) => Pool.CapacityOf(bytes);

    /// <summary>A block of at least so many bytes for one reader.</summary>
    public static ReceiveBlock Rent(int bytes)
    {
        ReceiveBlock block = Pool.Rent(bytes);
        block.Restart();
        return block;
    }

    /// <summary>The reader starts over at the block's beginning. Only while <see cref="IsUnshared"/>.</summary>
    public void Restart()
    {
        _leases.Value = 0;
        Volatile.Write(ref _ends.Value, 0);
    }

    /// <summary>Leases a frame that the reader has seen whole to its taker.</summary>
    /// <param name="start">Where its header begins.</param>
    public ResponseFrame Lease(int start)
    {
        _tickets ??= new int[Array.Length / BytesPerTicket];
        _leases.Value++;
        return new ResponseFrame(this, start, Volatile.Read(ref _tickets[start / BytesPerTicket]));
    }

    /// <inheritdoc/>
    public override void EndLease(int frameStart, int ticket)
    {
        ref int current = ref _tickets![frameStart / BytesPerTicket];
        if (Interlocked.CompareExchange(ref current, ticket + 1, ticket) == ticket)
            NoteEnds(1);
    }

    /// <summary>The reader lets go.</summary>
    public void Release() => NoteEnds(AllEnded - _leases.Value);

    private void NoteEnds(int count)
    {
        if (Interlocked.Add(ref _ends.Value, count) != AllEnded)
            return;
        PinnedMemory.Poison(Array);
        Pool.Return(this, Array.Length);
    }
}
