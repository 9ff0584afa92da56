using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Checks every byte of a data directory's log. Reads only: also while a store has the directory
/// open.</summary>
public static class LogVerifier
{
    /// <summary>Checks segment headers, entries, batches, sealed indexes and snapshots of log 0. Begins again when a
    /// live store takes one of the segments away.</summary>
    /// <param name="dataDirectory">The folder of the store.</param>
    /// <param name="cancellationToken">Looked at between segments.</param>
    /// <returns>Damage is reported, not thrown.</returns>
    /// <exception cref="StoreFormatException">The folder holds no store, or one of a later version.</exception>
    /// <exception cref="DiskException">The disk failed.</exception>
    public static LogVerification Verify(string dataDirectory, CancellationToken cancellationToken) =>
        Verify(dataDirectory, progress: null, cancellationToken);

    /// <inheritdoc cref="Verify(string, CancellationToken)"/>
    /// <param name="dataDirectory">The folder of the store.</param>
    /// <param name="progress">Called on the same thread after each MiB or so of entries.</param>
    /// <param name="cancellationToken">Looked at between segments.</param>
    public static LogVerification Verify(
        string dataDirectory, Action<FileProgress>? progress, CancellationToken cancellationToken) => Verify(
            PortableDisk.ForThisSystem(), Path.GetFullPath(dataDirectory), cancellationToken, progress);

    internal static LogVerification Verify(
        IDisk disk,
        string dataDirectory,
        CancellationToken cancellationToken,
        Action<FileProgress>? progress = null) => LogContents.Look(
            disk, dataDirectory, contents => Verify(disk, contents, progress, cancellationToken));

    private static LogVerification Verify(
        IDisk disk, LogContents contents, Action<FileProgress>? progress, CancellationToken cancellationToken)
    {
        long entries = 0, messages = 0;
        var meter = new VerifyMeter(contents.SizeOfLog(), progress);
        var badRanges = new List<BadRange>();
        foreach (LogPosition basePosition in contents.Bases)
        {
            if (contents.ReadHeader(basePosition, out _) == FileVerdict.Damaged)
                badRanges.Add(new BadRange(NameOf(contents, basePosition), basePosition, SegmentHeader.Length));
        }

        foreach (PackFile pack in contents.Packs)
        {
            if (contents.ReadHeader(pack.Path, pack.From, out _) != FileVerdict.Valid)
                badRanges.Add(new BadRange(Path.GetFileName(pack.Path), pack.From, SegmentHeader.Length));
            ScanPack(disk, contents, pack, Count, badRanges, cancellationToken);
        }

        var walk = new LogWalk(
            disk, contents.Directory, contents.LogSeed, contents.Bases, contents.ProvenDurable, contents.Packs);
        if (contents.Bases.Count > 0)
            walk.Run(0, Count, cancellationToken);

        badRanges.AddRange(walk.BadRanges);
        badRanges.AddRange(contents.DamagedFiles);
        LogPosition first = contents.Bases.Concat(contents.Packs.Select(pack => pack.From)).DefaultIfEmpty().Min();
        int segments = contents.Bases.Count + contents.Packs.Count;
        return new LogVerification(segments, entries, messages, badRanges, first, new LogPosition(walk.End));

        void Count(SegmentScanner scanner)
        {
            entries++;
            meter.Add(scanner.Header.Size);
            if (scanner.Header.Kind == EntryKind.Messages
                && RecordBatch.TryReadHeader(scanner.Batch, out RecordBatchHeader batch, out _))
            {
                messages += batch.RecordsCount;
            }
        }
    }

    private static void ScanPack(
        IDisk disk,
        LogContents contents,
        PackFile pack,
        LogWalk.Visitor visit,
        List<BadRange> badRanges,
        CancellationToken cancellationToken)
    {
        cancellationToken.ThrowIfCancellationRequested();
        using var scanner = new SegmentScanner(
            disk.Open(pack.Path, DiskOpen.ReadOnly), pack.Path, pack.From, contents.LogSeed, pack.To);
        while (scanner.TryStep(scanner.EndOfFile, out (long Position, long Size) bad))
        {
            if (bad.Size == 0)
                visit(scanner);
            else
                badRanges.Add(new BadRange(Path.GetFileName(pack.Path), new LogPosition(bad.Position), bad.Size));
        }
    }

    private static string NameOf(LogContents contents, LogPosition basePosition) =>
        Path.GetFileName(LogFiles.Segment(contents.Directory, basePosition));

    /// <summary>Tells of progress in steps that cost nothing beside the reading.</summary>
    private sealed class VerifyMeter(long totalBytes, Action<FileProgress>? progress)
    {
        private const long StepBytes = 1 << 20;

        private long _done;
        private long _told;

        public void Add(int bytes)
        {
            _done += bytes;
            if (_done - _told < StepBytes)
                return;
            _told = _done;
            progress?.Invoke(new FileProgress(_done, Math.Max(_done, totalBytes)));
        }
    }
}
