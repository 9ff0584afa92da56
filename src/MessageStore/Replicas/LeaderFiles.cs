using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The files of a leader's log that a new replica copies: what is committed, and durable here.</summary>
/// <param name="Begin">Where the log begins.</param>
/// <param name="Settled">Committed, and durable at the leader: nothing in the files is of more.</param>
/// <param name="Files">Packs and sealed segments in the order of positions, then their indexes, then
/// snapshots.</param>
public sealed record LeaderFiles(
    LogPosition Begin, LogPosition Settled, IReadOnlyList<(string Name, long Length)> Files)
{
    private const int SectorBytes = 4096;

    /// <summary>Looks which files there are.</summary>
    internal static LeaderFiles Look(CommitLog log, IDisk disk, string directory)
    {
        long settled;
        Segment[] segments;
        Dictionary<string, long> sizes;
        do
        {
            // A pack that took the place of segments between the two looks would be in neither.
            (settled, segments) = (log.Settled, log.Segments);
            sizes = disk.List(directory)
                .ToDictionary(entry => entry.Name, entry => entry.Size, StringComparer.Ordinal);
        }
        while (log.Segments != segments);

        Segment[] sealedOnes =
            [.. segments.Where(one => one.IsSealed && one.EndPosition <= settled && !one.IsLost)];
        var files = new List<(string Name, long Length)>();
        foreach (Segment segment in sealedOnes)
            Add(segment.Path);
        foreach (Segment segment in sealedOnes.Where(one => one.HasIndex))
            Add(segment.IndexPath);
        foreach (LogPosition snapshot in LogFiles.Find(disk, directory, LogFiles.SnapshotSuffix))
            Add(LogFiles.Snapshot(directory, snapshot));
        return new LeaderFiles(log.Watermarks.Begin, new LogPosition(settled), files);

        // One that went meanwhile is looked for again by who copies.
        void Add(string path)
        {
            string name = Path.GetFileName(path);
            if (sizes.TryGetValue(name, out long length))
                files.Add((name, length));
        }
    }

    /// <summary>Bad sectors keep no newcomer out: they are given as zeros, which no checksum takes for what was
    /// there.</summary>
    private static int ReadGoodSectors(IDiskFile file, Span<byte> destination, long offset)
    {
        try
        {
            return file.Read(destination, offset);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Io)
        {
            int size = (int)Math.Clamp(file.Length - offset, 0, destination.Length);
            destination[..size].Clear();
            for (int at = 0; at < size; at += SectorBytes)
                file.ReadOrNothing(destination[at..Math.Min(at + SectorBytes, size)], offset + at);
            return size;
        }
    }

    /// <summary>Reads a part of a file.</summary>
    /// <returns>Bytes read; -1 when there is no such file of a log any more.</returns>
    internal static int Read(IDisk disk, string directory, string name, long offset, Span<byte> destination)
    {
        if (ReplicaFileName.Parse(name) is null || offset < 0)
            return -1;
        try
        {
            using IDiskFile file = disk.Open(Path.Combine(directory, name), DiskOpen.ReadOnly);
            return ReadGoodSectors(file, destination, offset);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.NotFound)
        {
            return -1;
        }
    }
}
