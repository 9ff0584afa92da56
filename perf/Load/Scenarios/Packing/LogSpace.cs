using System.Globalization;

namespace EQueue.Load.Scenarios;

/// <summary>What the files of a store's log take; names as in docs/storage-format.md.</summary>
/// <param name="Bytes">Lengths of all files.</param>
/// <param name="ReplayBytes">Lengths of the segments among them that end behind the older snapshot, and of a segment
/// made ahead of need.</param>
/// <param name="HasUnfinished">Whether a file is being written that does not count yet: a pack, an index.</param>
internal sealed record LogSpace(long Bytes, long ReplayBytes, bool HasUnfinished)
{
    private const string LogFolder = "logs/0";
    private const int PositionDigits = 20;
    private const int SnapshotsKept = 2;

    /// <summary>Looks at a store that may be running: a file that goes meanwhile is not counted.</summary>
    public static LogSpace Measure(string directory)
    {
        FileInfo[] files = new DirectoryInfo(Path.Combine(directory, LogFolder)).GetFiles();
        long[] snapshots = files.Where(file => file.Extension == ".state").Select(PositionOf).Order().ToArray();
        long replayFrom = snapshots.Length < SnapshotsKept ? 0 : snapshots[^SnapshotsKept];
        FileInfo[] segments = files.Where(file => file.Extension is ".log" or ".pack").OrderBy(PositionOf).ToArray();
        long replayBytes = files.Where(file => file.Extension == ".next").Sum(LengthOf);
        for (int i = 0; i < segments.Length; i++)
        {
            long end = i + 1 < segments.Length ? PositionOf(segments[i + 1]) : long.MaxValue;
            if (end > replayFrom)
                replayBytes += LengthOf(segments[i]);
        }

        return new LogSpace(files.Sum(LengthOf), replayBytes, files.Any(file => file.Extension == ".tmp"));
    }

    private static long PositionOf(FileInfo file) =>
        long.Parse(file.Name.AsSpan(0, PositionDigits), NumberStyles.None, CultureInfo.InvariantCulture);

    private static long LengthOf(FileInfo file)
    {
        try
        {
            return file.Length;
        }
        catch (FileNotFoundException)
        {
            return 0;
        }
    }
}
