using System.Runtime.InteropServices;

namespace EQueue.Remoting;

/// <summary>A number on a cache line of its own: a thread that writes it does not take their line away from those who
/// use what lies beside it.</summary>
[StructLayout(LayoutKind.Explicit, Size = 2 * CacheLineBytes)]
internal struct PaddedCount
{
    private const int CacheLineBytes = 64;

    /// <summary>The number.</summary>
    [FieldOffset(CacheLineBytes)]
    public int Value;
}
