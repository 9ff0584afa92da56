using System.Globalization;
using Microsoft.Win32.SafeHandles;

namespace EQueue.Load.Limit;

/// <summary>What the system's page cache holds of the files of a store that may be running.</summary>
internal static class PageCache
{
    /// <summary>Where a store keeps its log; beside it lie only small files.</summary>
    private const string LogFolder = "logs";

    private const int PieceBytes = 1 << 20;
    private const string SegmentSuffix = ".log";

    /// <summary>Lets it go of all of them; what is dirty is written first.</summary>
    public static void Drop(string directory)
    {
        foreach (string path in Files(directory))
        {
            using SafeFileHandle? file = TryOpen(path);
            if (file is null)
                continue;
            LinuxCalls.FlushToDisk(file);
            LinuxCalls.DropFromCache(file, 0, 0);
        }
    }

    /// <summary>Lets it go of what is clean, without a word to the disk.</summary>
    public static void LetGo(string directory)
    {
        foreach (string path in Files(directory))
        {
            using SafeFileHandle? file = TryOpen(path);
            if (file is not null)
                LinuxCalls.DropFromCache(file, 0, 0);
        }
    }

    /// <summary>Reads the newest files, up to so many bytes of them: those before that no start looks at.</summary>
    public static void Warm(string directory, long maxBytes)
    {
        IEnumerable<FileInfo> files = Files(directory).Select(path => new FileInfo(path));
        IOrderedEnumerable<FileInfo> newest = files.OrderByDescending(file => file.LastWriteTimeUtc);
        foreach (FileInfo? file in newest)
        {
            if (maxBytes <= 0)
                return;
            maxBytes -= Read(file.FullName, file.Length, keepsCached: true);
        }
    }

    /// <summary>Reads a store's segments from front to back, in pieces of 1 MiB, and lets go of what it has
    /// read.</summary>
    /// <param name="directory">The store's.</param>
    /// <param name="endPosition">Where its log ends: behind that, a segment is reserved room.</param>
    /// <returns>Bytes read.</returns>
    public static long ReadLog(string directory, long endPosition)
    {
        long bytes = 0;
        IEnumerable<string> segments = Files(directory).Where(path => path.EndsWith(SegmentSuffix, StringComparison.Ordinal));
        foreach (string path in segments.Order(StringComparer.Ordinal))
        {
            long begin = long.Parse(Path.GetFileNameWithoutExtension(path), CultureInfo.InvariantCulture);
            if (begin < endPosition)
                bytes += Read(path, endPosition - begin, keepsCached: false);
        }

        return bytes;
    }

    private static string[] Files(string directory) =>
        Directory.GetFiles(Path.Combine(directory, LogFolder), "*", SearchOption.AllDirectories);

    /// <returns>Null when the file is gone: a running store renames and removes its own.</returns>
    private static SafeFileHandle? TryOpen(string path)
    {
        try
        {
            return File.OpenHandle(path, FileMode.Open, FileAccess.Read, FileShare.ReadWrite | FileShare.Delete);
        }
        catch (FileNotFoundException)
        {
            return null;
        }
    }

    private static long Read(string path, long maxBytes, bool keepsCached)
    {
        using SafeFileHandle? file = TryOpen(path);
        if (file is null)
            return 0;
        byte[] piece = new byte[PieceBytes];
        long at = 0;
        int count;
        while (at < maxBytes && (count = RandomAccess.Read(file, piece, at)) > 0)
        {
            if (!keepsCached)
                LinuxCalls.DropFromCache(file, at, count);
            at += count;
        }

        return at;
    }
}
