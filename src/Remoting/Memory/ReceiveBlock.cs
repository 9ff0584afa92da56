namespace EQueue.Remoting;

/// <summary>A pooled, pinned block into which a connection receives, shared with the leases on frames inside
/// it.</summary>
/// <remarks>
/// Owned by one reader at a time, which alone makes leases; leases end on any thread. It returns to the pool when the
/// reader and the last lease have let go. Each lease holds a ticket that only its first end matches, so a lease that
/// is ended twice takes nothing away from others, even when the block serves another reader by then.
/// </remarks>
internal sealed class ReceiveBlock
{
    private const int BytesPerTicket = 32;

    private static readonly SizeClassPool<ReceiveBlock> Pool = new(
        bytes => new ReceiveBlock(bytes), PinnedMemory.MinBytes, PinnedMemory.MaxBytes, PinnedMemory.MaxKeptBytes);

    private readonly int[] _tickets;
    private int _leaseCount;
    private int _references;

    private ReceiveBlock(int bytes)
    {
        Array = PinnedMemory.Allocate(bytes);
        _tickets = new int[bytes / BytesPerTicket];
    }

    /// <summary>The memory.</summary>
    public byte[] Array { get; }

    /// <summary>Whether nobody but the reader holds the block. Only the reader may ask.</summary>
    public bool IsUnshared => Volatile.Read(ref _references) == 1;

    /// <summary>The memory of a block that is rented with so many bytes.</summary>
    public static int CapacityOf(int bytes) => Pool.CapacityOf(bytes);

    /// <summary>A block of at least so many bytes for one reader.</summary>
    public static ReceiveBlock Rent(int bytes)
    {
        ReceiveBlock block = Pool.Rent(bytes);
        block._leaseCount = 0;
        Volatile.Write(ref block._references, 1);
        return block;
    }

    /// <summary>The reader starts over at the block's beginning. Only while <see cref="IsUnshared"/>.</summary>
    public void Restart() => _leaseCount = 0;

    /// <summary>Leases a slice to whoever takes the frame.</summary>
    public ResponseFrame Lease(FrameHeader header, int start, int bytes)
    {
        if (bytes == 0) return new ResponseFrame(header, ReadOnlyMemory<byte>.Empty, null, 0, 0);

        // Only frames smaller than two headers can use up the tickets.
        if (_leaseCount == _tickets.Length)
            return new ResponseFrame(header, Array.AsSpan(start, bytes).ToArray(), null, 0, 0);

        int lease = _leaseCount++;
        Interlocked.Increment(ref _references);
        int ticket = Volatile.Read(ref _tickets[lease]);
        return new ResponseFrame(header, Array.AsMemory(start, bytes), this, lease, ticket);
    }

    /// <summary>Ends a lease; does nothing when it has ended before.</summary>
    public void EndLease(int lease, int ticket)
    {
        if (Interlocked.CompareExchange(ref _tickets[lease], ticket + 1, ticket) == ticket) Release();
    }

    /// <summary>The reader, or a lease, lets go.</summary>
    public void Release()
    {
        if (Interlocked.Decrement(ref _references) != 0) return;
        PinnedMemory.Poison(Array);
        Pool.Return(this, Array.Length);
    }
}
