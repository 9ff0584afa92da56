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

    /// <summary>Gives the room behind the seal of a sealed segment back to the volume.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="length">How long its file is.</param>
    public void GiveBackRest(IDisk disk, long length)
    {
        long used = FileOffsetOf(EndPosition);
        if (!IsSealed || IsPacked || length <= used)
            return;
        IDiskFile file = File ?? disk.Open(Path, DiskOpen.ReadWrite);
        try
        {
            file.Truncate(used);
        }
        finally
        {
            if (File is null)
                file.Dispose();
        }
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        File?.Dispose();
        File = null;
    }
}
