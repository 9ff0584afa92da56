using System.Runtime.InteropServices;

namespace EQueue.Remoting;

/// <summary>A pooled, pinned block into which a connection receives, shared with the leases on frames inside
/// it.</summary>
/// <remarks>
/// Owned by one reader at a time, which alone makes leases; leases end on any thread. It returns to the pool when the
/// reader and the last lease have let go. The reader counts its leases alone, and those who end them meet at a count
/// of their own: making a lease touches nothing that others write. Each lease holds a ticket that only its first end
/// matches, so a lease that is ended twice takes nothing away from others, even when the block serves another reader
/// by then.
/// </remarks>
internal sealed class ReceiveBlock
{
    private const int BytesPerTicket = 32;

    /// <summary>What the count of ended leases comes to when the reader has let go and no lease is left.</summary>
    private const int AllEnded = 1 << 30;

    private static readonly SizeClassPool<ReceiveBlock> Pool = new(
        bytes => new ReceiveBlock(bytes), PinnedMemory.MinBytes, PinnedMemory.MaxBytes, PinnedMemory.MaxKeptBytes);

    private readonly int[] _tickets;
    private int _leaseCount;
    private EndCount _ends;

    private ReceiveBlock(int bytes)
    {
        Array = PinnedMemory.Allocate(bytes);
        _tickets = new int[bytes / BytesPerTicket];
    }

    /// <summary>The memory.</summary>
    public byte[] Array { get; }

    /// <summary>Whether nobody but the reader holds the block. Only the reader may ask.</summary>
    public bool IsUnshared => Volatile.Read(ref _ends.Value) == _leaseCount;

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
        _leaseCount = 0;
        Volatile.Write(ref _ends.Value, 0);
    }

    /// <summary>Leases a slice to whoever takes the frame.</summary>
    public ResponseFrame Lease(FrameHeader header, int start, int bytes)
    {
        if (bytes == 0) return new ResponseFrame(header, ReadOnlyMemory<byte>.Empty, null, 0, 0);

        // Only frames smaller than two headers can use up the tickets.
        if (_leaseCount == _tickets.Length)
            return new ResponseFrame(header, Array.AsSpan(start, bytes).ToArray(), null, 0, 0);

        int lease = _leaseCount++;
        int ticket = Volatile.Read(ref _tickets[lease]);
        return new ResponseFrame(header, Array.AsMemory(start, bytes), this, lease, ticket);
    }

    /// <summary>Ends a lease; does nothing when it has ended before.</summary>
    public void EndLease(int lease, int ticket)
    {
        if (Interlocked.CompareExchange(ref _tickets[lease], ticket + 1, ticket) == ticket) NoteEnds(1);
    }

    /// <summary>The reader lets go.</summary>
    public void Release() => NoteEnds(AllEnded - _leaseCount);

    private void NoteEnds(int count)
    {
        if (Interlocked.Add(ref _ends.Value, count) != AllEnded) return;
        PinnedMemory.Poison(Array);
        Pool.Return(this, Array.Length);
    }

    /// <summary>On a cache line that the reader does not write.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 2 * CacheLineBytes)]
    private struct EndCount
    {
        private const int CacheLineBytes = 64;

        [FieldOffset(CacheLineBytes)]
        public int Value;
    }
}
