using System.Globalization;

namespace EQueue.Load.Limit;

/// <summary>What the system's page cache holds of a directory's files.</summary>
internal static class PageCache
{
    private const int PieceBytes = 1 << 20;
    private const string SegmentSuffix = ".log";

    /// <summary>Lets it go of all of them; what is dirty is written first.</summary>
    public static void Drop(string directory)
    {
        foreach (var path in Files(directory))
        {
            using var file = File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
            LinuxCalls.FlushToDisk(file);
            LinuxCalls.DropFromCache(file, 0, 0);
        }
    }

    /// <summary>Reads the newest files, up to so many bytes of them: those before that nobody needs at a start.</summary>
    public static void Warm(string directory, long maxBytes)
    {
        var newest = Files(directory).Select(path => new FileInfo(path)).OrderByDescending(file => file.LastWriteTimeUtc);
        foreach (var file in newest)
        {
            if (maxBytes <= 0)
                return;
            maxBytes -= Read(file.FullName, 0, file.Length);
        }
    }

    /// <summary>Reads a store's segments from front to back, in pieces of 1 MiB.</summary>
    /// <param name="directory">The store's.</param>
    /// <param name="endPosition">Where its log ends: behind that, a segment is reserved room.</param>
    /// <returns>Bytes read.</returns>
    public static long ReadLog(string directory, long endPosition)
    {
        long bytes = 0;
        var segments = Files(directory).Where(path => path.EndsWith(SegmentSuffix, StringComparison.Ordinal));
        foreach (var path in segments.Order(StringComparer.Ordinal))
        {
            var begin = long.Parse(Path.GetFileNameWithoutExtension(path), CultureInfo.InvariantCulture);
            if (begin < endPosition)
                bytes += Read(path, 0, endPosition - begin);
        }

        return bytes;
    }

    private static string[] Files(string directory) =>
        Directory.GetFiles(directory, "*", SearchOption.AllDirectories);

    private static long Read(string path, long from, long maxBytes)
    {
        using var file = File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
        var piece = new byte[PieceBytes];
        var at = from;
        int count;
        while (at - from < maxBytes && (count = RandomAccess.Read(file, piece, at)) > 0)
            at += count;
        return at - from;
    }
}
