using EQueue.MessageStore;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Cluster.Tests;

/// <summary>Compares the logs of nodes that have stopped, byte for byte, as far as all of them go.</summary>
internal static class LogComparison
{
    private const int HeaderSize = 4096;

    /// <param name="directories">Of the nodes.</param>
    /// <returns>How many bytes were compared.</returns>
    public static long AssertEqual(IEnumerable<string> directories)
    {
        string[] shards = [.. directories.Select(directory => Path.Combine(directory, "shards", "0"))];
        long least = shards.Min(EndOf);
        Dictionary<long, string>[] logs = [.. shards.Select(SegmentsOf)];
        long compared = 0;
        foreach ((long begin, string first) in logs[0])
        {
            foreach (Dictionary<long, string> other in logs[1..])
            {
                // A pack has replaced it there, or it is below where that log begins.
                if (begin >= least || !other.TryGetValue(begin, out string? second)) continue;
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
        var known = new Dictionary<(int Epoch, long Position), (uint Crc, string Shard)>();
        int compared = 0;
        foreach (string directory in directories)
        {
            string shard = Path.Combine(directory, "shards", "0");
            foreach (EntryHeader entry in EntriesOf(shard))
            {
                if (known.TryAdd((entry.Epoch, entry.Position.Value), (entry.Crc, shard))) continue;
                (uint crc, string other) = known[(entry.Epoch, entry.Position.Value)];
                Assert.True(crc == entry.Crc, $"epoch {entry.Epoch} has two contents at {entry.Position}: {other}, {shard}");
                compared++;
            }
        }

        return compared;
    }

    private static IEnumerable<EntryHeader> EntriesOf(string shard)
    {
        long end = EndOf(shard);
        foreach ((long begin, string file) in SegmentsOf(shard))
        {
            byte[] bytes = File.ReadAllBytes(file);
            for (int at = HeaderSize; at + EntryHeader.Length <= bytes.Length && begin + at - HeaderSize < end;)
            {
                EntryHeader entry = EntryHeader.Read(bytes.AsSpan(at));
                if (entry.Position.Value != begin + at - HeaderSize || entry.Size < EntryHeader.Length) break;
                yield return entry;
                at += entry.Size;
            }
        }
    }

    private static long EndOf(string shard)
    {
        using var files = ReplicaFiles.Open(
            new ReplicaFilesOptions { DataDirectory = shard }, NullLogger.Instance, TimeProvider.System, default);
        return files.Tail.End.Value;
    }

    private static Dictionary<long, string> SegmentsOf(string shard) =>
        Directory.GetFiles(Path.Combine(shard, "logs", "0"), "*.log")
            .ToDictionary(file => long.Parse(Path.GetFileNameWithoutExtension(file)));

    private static long Compare(string one, string other, long most)
    {
        ReadOnlySpan<byte> left = File.ReadAllBytes(one).AsSpan(HeaderSize);
        ReadOnlySpan<byte> right = File.ReadAllBytes(other).AsSpan(HeaderSize);
        int size = (int)Math.Min(most, Math.Min(left.Length, right.Length));
        int equal = left[..size].CommonPrefixLength(right[..size]);
        Assert.True(equal == size, $"{one} and {other} differ at {equal} of {size} bytes");
        return size;
    }
}
