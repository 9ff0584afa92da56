using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Shows what a data directory holds. Reads only: also while a store has the directory open.</summary>
public sealed class LogInspector
{
    private readonly IDisk _disk;
    private readonly LogContents _contents;

    private LogInspector(IDisk disk, LogContents contents)
    {
        _disk = disk;
        _contents = contents;
    }

    /// <summary>Identity of the store.</summary>
    public Guid StoreId => _contents.Store.StoreId;

    /// <summary>Identity of log 0.</summary>
    public Guid LogId => _contents.Store.LogIds[0];

    /// <summary>Its segments in order.</summary>
    public IEnumerable<SegmentSummary> Segments => Files.Select(file => Summarize(file.Path, file.Base));

    /// <summary>Its snapshots, oldest first: where replay starts, up to where the log must be durable, whether it is
    /// whole.</summary>
    public IReadOnlyList<(LogPosition Start, LogPosition End, bool IsWhole)> Snapshots => _contents.Snapshots;

    /// <summary>Opens a data directory for looking.</summary>
    /// <exception cref="StoreFormatException">The folder holds no store, or one of a later version.</exception>
    public static LogInspector Open(string dataDirectory) =>
        Open(PortableDisk.ForThisSystem(), Path.GetFullPath(dataDirectory));

    private IEnumerable<(LogPosition Base, LogPosition PackedTo, string Path)> Files => _contents.Bases
        .Select(position => (position, default(LogPosition), LogFiles.Segment(_contents.Directory, position)))
        .Concat(_contents.Packs.Select(pack => (pack.From, pack.To, pack.Path)))
        .OrderBy(file => file.Item1);

    /// <summary>Gives the whole entries from a position on, in order (those of a packed segment in its own), and stops
    /// when told to. Damage is passed over, and so are segments that a live store has taken away since.</summary>
    /// <param name="from">Entries before it are left out.</param>
    /// <param name="take">Is given each entry; returns whether to go on.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public void ReadEntries(LogPosition from, Func<EntrySummary, bool> take, CancellationToken cancellationToken)
    {
        (LogPosition Base, LogPosition PackedTo, string Path)[] files = [.. Files];
        for (int i = 0; i < files.Length; i++)
        {
            cancellationToken.ThrowIfCancellationRequested();
            bool isLast = i == files.Length - 1;
            long end = isLast ? long.MaxValue : files[i + 1].Base.Value;
            if (end > from.Value && !ReadSegment(files[i], from, end, take, cancellationToken))
                return;
        }
    }

    internal static LogInspector Open(IDisk disk, string dataDirectory) =>
        new(disk, LogContents.Look(disk, dataDirectory, contents => contents));

    private bool TryOpen(string path, out IDiskFile? file)
    {
        try
        {
            file = _disk.Open(path, DiskOpen.ReadOnly);
            return true;
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.NotFound)
        {
            file = null;
            return false;
        }
    }

    private bool ReadSegment(
        (LogPosition Base, LogPosition PackedTo, string Path) file,
        LogPosition from,
        long end,
        Func<EntrySummary, bool> take,
        CancellationToken cancellationToken)
    {
        if (!TryOpen(file.Path, out IDiskFile? opened))
            return true;
        using var scanner = new SegmentScanner(opened!, file.Path, file.Base, _contents.LogSeed, file.PackedTo);
        while (scanner.TryStep(Math.Min(end, scanner.EndOfFile), out (long Position, long Size) bad))
        {
            cancellationToken.ThrowIfCancellationRequested();
            if (bad.Size == 0 && scanner.Header.Position >= from && !take(Summarize(scanner)))
                return false;
        }

        return true;
    }

    private static EntrySummary Summarize(SegmentScanner scanner)
    {
        EntryHeader header = scanner.Header;
        bool hasBatch = RecordBatch.TryReadHeader(scanner.Batch, out RecordBatchHeader batch, out _) && header.HasBatch;
        return new EntrySummary(
            header.Position,
            header.Size,
            header.Kind,
            header.Queue,
            header.Epoch,
            DateTimeOffset.FromUnixTimeMilliseconds(Math.Clamp(header.StoredTimeMs, 0, RecordTime.LatestMs)),
            header.Flags,
            hasBatch ? batch.BaseOffset : new QueueOffset(-1),
            hasBatch ? batch.RecordsCount : 0,
            hasBatch ? batch.Producer : ProducerSession.None);
    }

    private SegmentSummary Summarize(string path, LogPosition basePosition)
    {
        FileVerdict verdict = _contents.ReadHeader(path, basePosition, out SegmentHeader? header);
        return new SegmentSummary(
            Path.GetFileName(path),
            basePosition,
            header?.Capacity ?? 0,
            header?.Epoch ?? 0,
            DateTimeOffset.FromUnixTimeMilliseconds(Math.Clamp(header?.CreatedMs ?? 0, 0, RecordTime.LatestMs)),
            verdict == FileVerdict.Valid,
            _contents.IsIndexWhole(
                header is { IsPacked: true }
                    ? PackFile.IndexOf(path)
                    : LogFiles.Index(_contents.Directory, basePosition),
                basePosition));
    }
}
