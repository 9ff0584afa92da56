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

    /// <summary>Writes its header for the room that it has now; one that is there already keeps its epoch and its
    /// time.</summary>
    /// <param name="file">The segment's.</param>
    /// <param name="folder">Whose log it is.</param>
    /// <param name="epoch">Of a new one.</param>
    /// <param name="time">Creation time of a new one.</param>
    public void WriteHeader(IDiskFile file, ReplicaFolder folder, int epoch, TimeProvider time)
    {
        byte[] bytes = new byte[SegmentHeader.Length];
        int size = file.Read(bytes, 0);
        FileVerdict verdict = SegmentHeader.Read(bytes.AsSpan(0, size), out SegmentHeader? known);
        var header = new SegmentHeader
        {
            StoreId = folder.StoreId,
            LogId = folder.LogId,
            BasePosition = new LogPosition(BasePosition),
            Epoch = verdict == FileVerdict.Valid ? known!.Epoch : epoch,
            CreatedMs = verdict == FileVerdict.Valid
                ? known!.CreatedMs
                : time.GetUtcNow().ToUnixTimeMilliseconds(),
            Capacity = Capacity,
        };
        header.Write(bytes);
        file.Write(bytes, 0);
    }

    /// <summary>Finds the entry that ends at a position.</summary>
    /// <exception cref="ReplicaException">None does, or half a group.</exception>
    public EntryHeader FindEnd(ReplicaFolder folder, LogPosition end)
    {
        using var scanner = new SegmentScanner(
            folder.Disk.Open(Path, DiskOpen.ReadOnly), Path, new LogPosition(BasePosition), folder.LogSeed);
        while (scanner.Position < end.Value && scanner.Next() == ScanVerdict.Entry)
        {
        }

        EntryHeader last = scanner.Header;
        if (scanner.Position != end.Value || last.Flags.HasFlag(EntryFlags.More))
            throw new ReplicaException($"no entry, or half a group, ends at {end}; one ends at {scanner.Position}.");
        return last;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        File?.Dispose();
        File = null;
    }
}
