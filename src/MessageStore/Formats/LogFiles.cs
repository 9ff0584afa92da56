using System.Globalization;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Where the files of a store are and what their names mean.</summary>
/// <remarks>
/// <code>
/// store                                 identity
/// lock                                  held by the one process that may write
/// clean                                 written by an orderly stop, removed at open
/// logs/0/00000000000000000000.log       segment with that base position
/// logs/0/00000000000000000000.index     its sealed index
/// logs/0/00000000000000001234.state     snapshot from which replay starts at that position
/// logs/0/*.tmp, logs/0/*.next           not whole: removed at open
/// </code>
/// </remarks>
internal static class LogFiles
{
    public const string SegmentSuffix = ".log";
    public const string IndexSuffix = ".index";
    public const string SnapshotSuffix = ".state";
    public const string TemporarySuffix = SectionFileWriter.TemporarySuffix;

    /// <summary>Ends the name of a segment that was made ahead of need and has no position yet.</summary>
    public const string PreparedSuffix = ".next";

    private const int PositionDigits = 20;

    public static string StoreFile(string dataDirectory) => Path.Combine(dataDirectory, StoreHeader.FileName);

    public static string LockFile(string dataDirectory) => Path.Combine(dataDirectory, "lock");

    public static string CleanFile(string dataDirectory) => Path.Combine(dataDirectory, CleanMarker.FileName);

    public static string LogDirectory(string dataDirectory, int log = 0) =>
        Path.Combine(dataDirectory, "logs", log.ToString(CultureInfo.InvariantCulture));

    public static string Segment(string logDirectory, LogPosition basePosition) =>
        Path.Combine(logDirectory, NameOf(basePosition, SegmentSuffix));

    public static string Index(string logDirectory, LogPosition basePosition) =>
        Path.Combine(logDirectory, NameOf(basePosition, IndexSuffix));

    public static string Snapshot(string logDirectory, LogPosition startPosition) =>
        Path.Combine(logDirectory, NameOf(startPosition, SnapshotSuffix));

    /// <summary>The positions of all files of one kind, rising.</summary>
    public static List<LogPosition> Find(IDisk disk, string logDirectory, string suffix)
    {
        var positions = new List<LogPosition>();
        foreach (DiskEntry entry in disk.List(logDirectory))
        {
            if (TryParse(entry.Name, suffix, out LogPosition position))
                positions.Add(position);
        }

        positions.Sort();
        return positions;
    }

    /// <summary>Reads the position out of a name like <c>00000000000000001234.log</c>.</summary>
    public static bool TryParse(string name, string suffix, out LogPosition position)
    {
        position = default;
        if (name.Length != PositionDigits + suffix.Length || !name.EndsWith(suffix, StringComparison.Ordinal)
            || !long.TryParse(
                name.AsSpan(0, PositionDigits), NumberStyles.None, CultureInfo.InvariantCulture, out long value))
        {
            return false;
        }

        position = new LogPosition(value);
        return true;
    }

    private static string NameOf(LogPosition position, string suffix) =>
        position.Value.ToString("D20", CultureInfo.InvariantCulture) + suffix;
}
