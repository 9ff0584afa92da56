using System.Collections.Concurrent;
using System.Diagnostics;

namespace EQueue.Remoting;

/// <summary>Arrays that the garbage collector never moves, so that the socket layer pins nothing per call.</summary>
internal static class PinnedMemory
{
    /// <summary>The smallest pooled array.</summary>
    public const int MinBytes = 512;

    /// <summary>The largest pooled array.</summary>
    public const int MaxBytes = 32 * 1024 * 1024;

    /// <summary>How much each of the two pools (send and receive) keeps for the whole process: 64 MiB, or a sixteenth
    /// of the heap where that is less.</summary>
    public static readonly long MaxKeptBytes =
        Math.Min(64L * 1024 * 1024, GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / 16);

    private static readonly Lock Collecting = new();

    private static readonly ConcurrentQueue<Action> Clearing = new();

    /// <summary>A new pinned array with arbitrary content.</summary>
    /// <remarks>
    /// Large arrays that were let go of count until their generation, the oldest, is collected, and holes between those
    /// in use are lost until then. In a small heap that ends allocations for which there is room: all that can be given
    /// back is, once, before one fails.
    /// </remarks>
    /// <exception cref="OutOfMemoryException">There is no room all the same.</exception>
    public static byte[] Allocate(int bytes)
    {
        try
        {
            return GC.AllocateUninitializedArray<byte>(bytes, pinned: true);
        }
        catch (OutOfMemoryException)
        {
            return AllocateAfterCollection(bytes);
        }
    }

    /// <summary>A pool of what is made with such arrays; <see cref="ReleaseKept"/> empties it. Lives as long as the
    /// process.</summary>
    public static SizeClassPool<T> Pool<T>(Func<int, T> create)
        where T : class
    {
        var pool = new SizeClassPool<T>(create, MinBytes, MaxBytes, MaxKeptBytes);
        Clearing.Enqueue(pool.Clear);
        return pool;
    }

    /// <summary>Lets go of what waits in the pools to be used again.</summary>
    public static void ReleaseKept()
    {
        foreach (Action clear in Clearing)
            clear();
    }

    /// <summary>One thread at a time: the next one may find room already.</summary>
    private static byte[] AllocateAfterCollection(int bytes)
    {
        lock (Collecting)
        {
            ReleaseKept();
            GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
            return GC.AllocateUninitializedArray<byte>(bytes, pinned: true);
        }
    }

    /// <summary>Debug builds: overwrites what was given back, so that a late reader sees nonsense at once.</summary>
    [Conditional("DEBUG")]
    public static void Poison(Span<byte> memory) => memory.Fill(0xDD);
}
