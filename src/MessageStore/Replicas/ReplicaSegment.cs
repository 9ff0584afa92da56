using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>One segment file of a replica's log; the last takes what is appended.</summary>
internal sealed class ReplicaSegment(string path, long basePosition, long capacity) : IDisposable
{
    /// <summary>The file.</summary>
    public string Path { get; } = path;

    /// <summary>The position of its first entry.</summary>
    public long BasePosition { get; } = basePosition;

    /// <summary>Bytes of positions that its header says it was made for.</summary>
    public long Capacity { get; set; } = capacity;

    /// <summary>Where its entries end.</summary>
    public long EndPosition { get; set; } = basePosition;

    /// <summary>Whether its last entry is its seal.</summary>
    public bool IsSealed { get; set; }

    /// <summary>Whether it is a pack: not read by position.</summary>
    public bool IsPacked { get; init; }

    /// <summary>Whether it has bytes that no sync has covered.</summary>
    public bool IsDirty { get; set; }

    /// <summary>Open for writing; null while nothing is written.</summary>
    public IDiskFile? File { get; set; }

    /// <summary>Where a position lies in the file.</summary>
    public long FileOffsetOf(long position) => SegmentHeader.FileOffsetOf(
        new LogPosition(position), new LogPosition(BasePosition));

    /// <inheritdoc/>
    public void Dispose()
    {
        File?.Dispose();
        File = null;
    }
}
