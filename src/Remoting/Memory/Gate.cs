using System.Runtime.CompilerServices;

namespace EQueue.Remoting;

/// <summary>A lock for a few instructions at a time. It is taken by one interlocked operation and let go of by a plain
/// write: a thread that has copied a frame under it continues while the bytes are still on their way to the cache,
/// where a <see cref="Lock"/> waits for them.</summary>
/// <remarks>Neither fair nor recursive. Who finds it taken spins, then gives way to other threads, then sleeps a
/// millisecond at a time: nothing that blocks may be done under it. Letting go is no full fence: what the same thread
/// reads behind it may have been read before others see what it wrote under it. Where two threads are each to see what
/// the other one wrote, the rarer one of them <see cref="Pass">passes</see> between its writing and its reading.
/// </remarks>
internal sealed class Gate
{
    private const int YieldsBeforeSleep = 200;

    private PaddedCount _taken;

    /// <summary>Takes the lock until the scope's end.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Scope Enter()
    {
        if (Interlocked.CompareExchange(ref _taken.Value, 1, 0) != 0)
            EnterSlow();
        return new Scope(this);
    }

    /// <summary>Takes and releases the lock: the caller sees all that the holder before it
    /// wrote, and the next holder sees what the caller has written.</summary>
    public void Pass()
    {
        using (Enter())
        {
            // Nothing else to do.
        }
    }

    private void EnterSlow()
    {
        var spin = default(SpinWait);
        do spin.SpinOnce(YieldsBeforeSleep);
        while (Volatile.Read(ref _taken.Value) != 0 || Interlocked.CompareExchange(ref _taken.Value, 1, 0) != 0);
    }

    /// <summary>While the lock is held; disposed once, by the thread that took it.</summary>
    internal readonly ref struct Scope(Gate gate)
    {
        /// <summary>Lets go of the lock.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Dispose() => Volatile.Write(ref gate._taken.Value, 0);
    }
}
