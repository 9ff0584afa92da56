using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Checks every byte of a data directory's log. Reads only: also while a store has the directory
/// open.</summary>
public static class LogVerifier
{
    /// <summary>Checks segment headers, entries, batches, sealed indexes and snapshots of log 0.</summary>
    /// <param name="dataDirectory">The folder of the store.</param>
    /// <param name="cancellationToken">Looked at between segments.</param>
    /// <returns>Damage is reported, not thrown.</returns>
    /// <exception cref="StoreFormatException">The folder holds no store, or one of a later version.</exception>
    /// <exception cref="DiskException">The disk failed.</exception>
    public static LogVerification Verify(string dataDirectory, CancellationToken cancellationToken) =>
        Verify(PortableDisk.ForThisSystem(), Path.GetFullPath(dataDirectory), cancellationToken);

    internal static LogVerification Verify(IDisk disk, string dataDirectory, CancellationToken cancellationToken)
    {
        LogContents contents = LogContents.Read(disk, dataDirectory);
        long entries = 0, messages = 0;
        var badRanges = new List<BadRange>();
        foreach (LogPosition basePosition in contents.Bases)
        {
            if (contents.ReadHeader(basePosition, out _) == FileVerdict.Damaged)
                badRanges.Add(new BadRange(NameOf(contents, basePosition), basePosition, SegmentHeader.Length));
        }

        var walk = new LogWalk(disk, contents.Directory, contents.LogSeed, contents.Bases, contents.ProvenDurable);
        if (contents.Bases.Count > 0)
        {
            walk.Run(
                0,
                scanner =>
                {
                    entries++;
                    if (scanner.Header.Kind == EntryKind.Messages
                        && RecordBatch.TryReadHeader(scanner.Batch, out RecordBatchHeader batch, out _))
                    {
                        messages += batch.RecordsCount;
                    }
                },
                cancellationToken);
        }

        badRanges.AddRange(walk.BadRanges);
        badRanges.AddRange(contents.DamagedFiles);
        LogPosition first = contents.Bases.Count > 0 ? contents.Bases[0] : default;
        return new LogVerification(
            contents.Bases.Count, entries, messages, badRanges, first, new LogPosition(walk.End));
    }

    private static string NameOf(LogContents contents, LogPosition basePosition) =>
        Path.GetFileName(LogFiles.Segment(contents.Directory, basePosition));
}
