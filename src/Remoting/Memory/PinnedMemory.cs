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

    /// <summary>A new pinned array with arbitrary content.</summary>
    public static byte[] Allocate(int bytes) => GC.AllocateUninitializedArray<byte>(bytes, pinned: true);

    /// <summary>Debug builds: overwrites what was given back, so that a late reader sees nonsense at once.</summary>
    [Conditional("DEBUG")]
    public static void Poison(Span<byte> memory) => memory.Fill(0xDD);
}
