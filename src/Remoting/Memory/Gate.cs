using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace EQueue.Remoting;

/// <summary>A lock for a few instructions at a time. It is taken by one interlocked operation and released by a plain
/// write: a thread that has copied a frame or a message under it continues while the bytes are still on their way to
/// the cache, where a <see cref="Lock"/> waits for them.</summary>
/// <remarks>Recursive, for loggers and timers are called under it and may come back; not fair. A thread that finds it
/// taken looks again and again for a moment, then gives way to other threads, then sleeps a millisecond at a time:
/// nothing that blocks may be done under it. Its release is no full fence: what the same thread reads behind it may
/// have been read before others see what it wrote under it. Where two threads are each to see what the other one wrote,
/// the rarer one of them <see cref="Pass">passes</see> between its writing and its reading.</remarks>
internal sealed class Gate
{
    /// <summary>It is held for less than these take, mostly.</summary>
    private const int ShortSpins = 50;
    private const int YieldsBeforeSleep = 200;

    private Holder _holder;

    /// <summary>Takes the lock until the scope's end.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public Scope Enter()
    {
        int thread = Environment.CurrentManagedThreadId;
        if (Interlocked.CompareExchange(ref _holder.Thread, thread, 0) != 0)
            EnterSlow(thread);
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

    private void EnterSlow(int thread)
    {
        if (Volatile.Read(ref _holder.Thread) == thread)
        {
            _holder.Depth++;
            return;
        }

        for (int i = 0; i < ShortSpins; i++)
        {
            Thread.SpinWait(1);
            if (TryTake(thread))
                return;
        }

        var spin = default(SpinWait);
        do
            spin.SpinOnce(YieldsBeforeSleep);
        while (!TryTake(thread));
    }

    /// <summary>Test before CAS: a read keeps the cache line shared.</summary>
    private bool TryTake(int thread) =>
        Volatile.Read(ref _holder.Thread) == 0 && Interlocked.CompareExchange(ref _holder.Thread, thread, 0) == 0;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Leave()
    {
        if (_holder.Depth > 0)
            _holder.Depth--;
        else
            Volatile.Write(ref _holder.Thread, 0);
    }

    /// <summary>While the lock is held; disposed once, by the thread that took it.</summary>
    internal readonly ref struct Scope(Gate gate)
    {
        /// <summary>Releases the lock.</summary>
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        public void Dispose() => gate.Leave();
    }

    /// <summary>Who holds it, on a line of the cache of its own.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 2 * CacheLineBytes)]
    private struct Holder
    {
        private const int CacheLineBytes = 64;

        /// <summary>The thread's id; 0 = none.</summary>
        [FieldOffset(CacheLineBytes)]
        public int Thread;

        /// <summary>How often it has come back.</summary>
        [FieldOffset(CacheLineBytes + sizeof(int))]
        public int Depth;
    }
}
