using System.Buffers.Binary;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>A good store, of which copies with a change are made. Thread-safe.</summary>
internal sealed class HostileFiles
{
    private readonly SimulatedDisk _good;
    private readonly string[] _files;
    private readonly uint _logSeed;
    private readonly List<EntrySummary> _entries = [];

    public HostileFiles(SimulatedDisk good, CancellationToken cancel)
    {
        _good = good;
        _files = [.. good.Files.Where(path => !path.EndsWith(LogFiles.PreparedSuffix, StringComparison.Ordinal))];
        var inspector = LogInspector.Open(good, CrashRun.Folder);
        _logSeed = EntryHeader.SeedOf(inspector.LogId);
        inspector.ReadEntries(
            default,
            entry =>
            {
                _entries.Add(entry);
                return true;
            },
            cancel);
    }

    /// <summary>One change of one file; with right checksums also one inside a state record, which is then replayed,
    /// and numbers where numbers are.</summary>
    public SimulatedDisk Mutate(Random random, bool areChecksumsRight, out string change)
    {
        SimulatedDisk disk = _good.Copy();
        if (areChecksumsRight && random.Next(3) == 0)
        {
            ChangeEntry(disk, random, out change);
            return disk;
        }

        string path = _files[random.Next(_files.Length)];
        byte[] bytes = disk.ReadAll(path);
        change = $"{Change(ref bytes, random)} of {path}";
        if (areChecksumsRight)
            Checksums.Renew(path, bytes, _logSeed, EntriesOf(path));
        disk.WriteAll(path, bytes);
        return disk;
    }

    /// <summary>Changes an entry, state more often than messages, and sees to it that it is replayed.</summary>
    private void ChangeEntry(SimulatedDisk disk, Random random, out string change)
    {
        EntrySummary[] state = [.. _entries.Where(entry => entry.Kind == EntryKind.State)];
        EntrySummary hit = random.Next(3) == 0 ? _entries[random.Next(_entries.Count)] : state[random.Next(state.Length)];
        string path = _files.Last(file => file.EndsWith(LogFiles.SegmentSuffix, StringComparison.Ordinal)
            && BaseOf(file) <= hit.Position.Value);
        byte[] bytes = disk.ReadAll(path);
        int start = (int)(SegmentHeader.Length + hit.Position.Value - BaseOf(path));
        var changes = new List<string>();
        for (int i = random.Next(1, 4); i > 0; i--)
        {
            int at = start + 8 + random.Next(hit.Size - 8);
            bytes[at] = random.Next(3) switch
            {
                0 => (byte)(bytes[at] ^ (1 << random.Next(8))),
                1 => 0xFF,
                _ => (byte)random.Next(256),
            };
            changes.Add($"{bytes[at]} at {at - start}");
        }

        Checksums.Renew(path, bytes, _logSeed, [(start, hit.Size)]);
        disk.WriteAll(path, bytes);
        foreach (string snapshot in _files.Where(file => file.EndsWith(LogFiles.SnapshotSuffix, StringComparison.Ordinal)))
            disk.Delete(snapshot);
        change = $"{string.Join(", ", changes)} of the {hit.Kind} entry at {hit.Position}";
    }

    private IEnumerable<(int Start, int Size)> EntriesOf(string path)
    {
        if (!path.EndsWith(LogFiles.SegmentSuffix, StringComparison.Ordinal))
            return [];
        long first = BaseOf(path);
        long end = _files.Where(file => file.EndsWith(LogFiles.SegmentSuffix, StringComparison.Ordinal))
            .Select(BaseOf).Where(one => one > first).DefaultIfEmpty(long.MaxValue).Min();
        return _entries.Where(entry => entry.Position.Value >= first && entry.Position.Value < end)
            .Select(entry => ((int)(SegmentHeader.Length + entry.Position.Value - first), entry.Size));
    }

    private static long BaseOf(string path) =>
        LogFiles.TryParse(Path.GetFileName(path), LogFiles.SegmentSuffix, out LogPosition position)
            ? position.Value
            : throw new InvalidOperationException(path);

    private static string Change(ref byte[] bytes, Random random)
    {
        int at = bytes.Length == 0 ? 0 : random.Next(random.Next(3) == 0 ? Math.Min(bytes.Length, 256) : bytes.Length);
        // Behind their header small files have most of what they have in the first bytes.
        if (random.Next(3) == 0 && bytes.Length > SectionFileHeader.Length)
            at = SectionFileHeader.Length + random.Next(Math.Min(bytes.Length - SectionFileHeader.Length, 512));
        int size = Math.Min(bytes.Length - at, 1 + random.Next(random.Next(2) == 0 ? 8 : 2_000));
        switch (random.Next(7))
        {
            case 0 when size > 0:
                bytes[at] ^= (byte)(1 << random.Next(8));
                return $"bit at {at}";
            case 1:
                random.NextBytes(bytes.AsSpan(at, size));
                return $"noise of {size} at {at}";
            case 2:
                bytes.AsSpan(at, size).Clear();
                return $"zeros of {size} at {at}";
            case 3:
                bytes = bytes[..at];
                return $"cut at {at}";
            case 4 when size >= 4:
                int[] values = [-1, int.MaxValue, int.MinValue, random.Next(100_000)];
                int value = values[random.Next(values.Length)];
                BinaryPrimitives.WriteInt32LittleEndian(bytes.AsSpan(at), value);
                return $"number {value} at {at}";
            case 5:
                int from = random.Next(bytes.Length - size + 1);
                bytes.AsSpan(from, size).CopyTo(bytes.AsSpan(at));
                return $"{size} bytes from {from} to {at}";
            default:
                byte[] more = new byte[random.Next(10_000)];
                random.NextBytes(more);
                bytes = [.. bytes, .. more];
                return $"{more.Length} more bytes";
        }
    }
}
