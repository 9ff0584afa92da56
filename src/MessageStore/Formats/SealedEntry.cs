using System.Runtime.InteropServices;

namespace EQueue.MessageStore;

/// <summary>One entry of a queue as a sealed index knows it.</summary>
/// <param name="FirstOffset">Offset of its first record.</param>
/// <param name="EndOffset">Offset after its last record.</param>
/// <param name="Position">Where it is in the log.</param>
/// <param name="Size">Bytes of the whole entry.</param>
/// <param name="StoredTimeMs">Unix milliseconds.</param>
/// <param name="TagBits">As the entry carries them.</param>
[StructLayout(LayoutKind.Auto)]
internal readonly record struct SealedEntry(
    long FirstOffset, long EndOffset, long Position, int Size, long StoredTimeMs, uint TagBits)
{
    /// <summary>Where it is in its file: told by the index, not stored with the entry.</summary>
    public long FileOffset { get; init; }
}
