using System.Runtime.InteropServices;

namespace EQueue.MessageStore;

/// <summary>One entry of a queue in the active index: 20 bytes, relative to its <see cref="IndexRun"/>.</summary>
[StructLayout(LayoutKind.Sequential, Pack = 4)]
internal readonly struct IndexEntry(uint position, uint size, uint endOffsetDelta, uint timeDeltaMs, uint tagBits)
{
    /// <summary>Position minus the segment's base position.</summary>
    public uint Position { get; } = position;

    /// <summary>Bytes of the whole entry.</summary>
    public uint Size { get; } = size;

    /// <summary>The offset after the last record minus the run's first offset. The first offset is the previous
    /// entry's.</summary>
    public uint EndOffsetDelta { get; } = endOffsetDelta;

    /// <summary>Stored time minus the run's first time.</summary>
    public uint TimeDeltaMs { get; } = timeDeltaMs;

    /// <summary>The batch's filter bits.</summary>
    public uint TagBits { get; } = tagBits;
}
