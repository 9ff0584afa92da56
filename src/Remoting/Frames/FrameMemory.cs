namespace EQueue.Remoting;

/// <summary>Memory that holds received frames, and from which they are leased: the block into which a connection
/// receives, or the place of one call, which keeps a small answer.</summary>
/// <remarks>A lease is known by where its frame begins and by its ticket. Leases end on any thread.</remarks>
/// <param name="array">The memory.</param>
internal abstract class FrameMemory(byte[] array)
{
    /// <summary>The memory.</summary>
    public byte[] Array { get; } = array;

    /// <summary>Ends a lease; does nothing when it has ended before.</summary>
    /// <param name="frameStart">Where its frame begins in <see cref="Array"/>.</param>
    /// <param name="ticket">As the lease was given it.</param>
    public abstract void EndLease(int frameStart, int ticket);
}
