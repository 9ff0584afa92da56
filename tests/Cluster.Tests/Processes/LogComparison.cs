using EQueue.MessageStore;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cluster.Tests;

/// <summary>Compares the logs of nodes that have stopped, byte for byte, as far as all of them go.</summary>
internal static class LogComparison
{
    /// <param name="directories">Of the nodes.</param>
    /// <returns>How many bytes were compared.</returns>
    public static long AssertEqual(IEnumerable<string> directories)
    {
        string[] nodes = [.. directories];
        long least = nodes.Min(EndOf);
        Dictionary<long, string>[] logs = [.. nodes.Select(SegmentsOf)];
        long compared = 0;
        foreach ((long begin, string first) in logs[0])
        {
            foreach (Dictionary<long, string> other in logs[1..])
            {
                // A pack has replaced it there, or it is below where that log begins.
                if (begin >= least || !other.TryGetValue(begin, out string? second))
                    continue;
                compared += Compare(first, second, least - begin);
            }
        }

        return compared;
    }

    /// <summary>Compares entry by entry: two of one epoch at one position are the same, whatever is around them.</summary>
    /// <param name="directories">Of the nodes.</param>
    /// <returns>How many entries were there at two nodes.</returns>
    public static int AssertOneContent(IEnumerable<string> directories)
    {
        var known = new Dictionary<(int Epoch, long Position), (uint Crc, string Directory)>();
        int compared = 0;
        foreach (string directory in directories)
        {
            foreach (EntryHeader entry in EntriesOf(directory))
            {
                if (known.TryAdd((entry.Epoch, entry.Position.Value), (entry.Crc, directory)))
                    continue;
                (uint crc, string other) = known[(entry.Epoch, entry.Position.Value)];
                Assert.True(
                    crc == entry.Crc, $"epoch {entry.Epoch} has two contents at {entry.Position}: {other}, {directory}");
                compared++;
            }
        }

        return compared;
    }

    /// <summary>The files of a node's log, by the position at which each begins.</summary>
    public static Dictionary<long, string> SegmentsOf(string directory) =>
        Directory.GetFiles(Path.Combine(ShardOf(directory), "logs", "0"), "*.log")
            .ToDictionary(file => long.Parse(Path.GetFileNameWithoutExtension(file)));

    private static IEnumerable<EntryHeader> EntriesOf(string directory)
    {
        long end = EndOf(directory);
        foreach ((long begin, string file) in SegmentsOf(directory))
        {
            byte[] bytes = File.ReadAllBytes(file);
            long fileBegin = begin - SegmentHeader.Length;
            for (int at = SegmentHeader.Length; at + EntryHeader.Length <= bytes.Length && fileBegin + at < end;)
            {
                var entry = EntryHeader.Read(bytes.AsSpan(at));
                if (entry.Position.Value != fileBegin + at || entry.Size < EntryHeader.Length)
                    break;
                yield return entry;
                at += entry.Size;
            }
        }
    }

    private static long EndOf(string directory)
    {
        using var files = ReplicaFiles.Open(
            new ReplicaFilesOptions { DataDirectory = ShardOf(directory) }, NullLogger.Instance, TimeProvider.System, default);
        return files.Tail.End.Value;
    }

    private static string ShardOf(string directory) => Path.Combine(directory, "shards", "0");

    private static long Compare(string one, string other, long most)
    {
        ReadOnlySpan<byte> left = File.ReadAllBytes(one).AsSpan(SegmentHeader.Length);
        ReadOnlySpan<byte> right = File.ReadAllBytes(other).AsSpan(SegmentHeader.Length);
        int size = (int)Math.Min(most, Math.Min(left.Length, right.Length));
        int equal = left[..size].CommonPrefixLength(right[..size]);
        Assert.True(equal == size, $"{one} and {other} differ at {equal} of {size} bytes");
        return size;
    }
}
