using EQueue.Protocol;

namespace EQueue.Replication.Tests.Simulation;

/// <summary>One entry of a model log. Two logs with an entry of equal chain are equal up to it.</summary>
internal readonly record struct ModelEntry(LogPosition Position, LogPosition End, int Epoch, uint Crc, ulong Chain);

/// <summary>A log in memory: written entries, of which a first part is durable.</summary>
internal sealed class ModelLog : IReplicaLog
{
    private readonly List<ModelEntry> _entries = [];

    public IReadOnlyList<ModelEntry> Entries => _entries;

    public LogPosition Durable { get; private set; }

    public LogTail Tail => _entries.Count == 0 ? default : TailOf(_entries[^1]);

    public bool IsFull { get; set; }

    /// <summary>Below it entries are packed: they are given as files alone.</summary>
    public LogPosition Packed { get; set; }

    public bool? Holds(in LogTail tail)
        => tail.Position < Packed ? null : Find(tail.End) is { } entry && TailOf(entry) == tail;

    public (int Epoch, LogPosition End) EndOfEpoch(int epoch)
    {
        int low = 0, high = _entries.Count;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (_entries[middle].Epoch <= epoch)
                low = middle + 1;
            else
                high = middle;
        }

        return low == 0 ? default : (_entries[low - 1].Epoch, _entries[low - 1].End);
    }

    /// <summary>The entry that ends at a position.</summary>
    public ModelEntry? Find(LogPosition end)
    {
        int index = IndexAfter(end) - 1;
        return index >= 0 && _entries[index].End == end ? _entries[index] : null;
    }

    public ModelEntry Stage(int epoch, int size, uint crc)
    {
        LogTail tail = Tail;
        ulong chain = _entries.Count == 0 ? 0 : _entries[^1].Chain;
        chain = ((chain ^ crc) * 0x9E3779B97F4A7C15) ^ ((ulong)epoch << 32) ^ (ulong)tail.End.Value;
        var entry = new ModelEntry(tail.End, new LogPosition(tail.End.Value + size), epoch, crc, chain);
        _entries.Add(entry);
        return entry;
    }

    public void Add(ModelEntry entry) => _entries.Add(entry);

    /// <summary>Up to 16 entries of one epoch from a position on.</summary>
    public ModelEntry[] Read(LogPosition from)
    {
        int first = IndexAfter(from), count = 0;
        while (first + count < _entries.Count && count < 16 && _entries[first + count].Epoch == _entries[first].Epoch)
            count++;
        return [.. _entries.GetRange(first, count)];
    }

    /// <summary>fdatasync has returned for what was written up to here.</summary>
    public bool TrySync(LogPosition end)
    {
        LogPosition written = Tail.End < end ? Tail.End : end;
        if (written <= Durable)
            return false;
        Durable = written;
        return true;
    }

    /// <summary>As a store: to the end of an entry alone.</summary>
    public void CutTo(LogPosition end)
    {
        if (end.Value > 0 && Find(end) is null)
            throw new InvalidOperationException($"no entry ends at {end}");
        int index = IndexAfter(end);
        _entries.RemoveRange(index, _entries.Count - index);
        if (Durable > end)
            Durable = end;
    }

    /// <summary>Loses entries behind what is durable: the first hole ends the log, wherever the next ones are.</summary>
    public void LosePower(Random random)
    {
        int durable = IndexAfter(Durable);
        int kept = random.Next(durable, _entries.Count + 1);
        _entries.RemoveRange(kept, _entries.Count - kept);
    }

    /// <summary>Goes back to an earlier image of the same disk.</summary>
    public void Restore(IReadOnlyList<ModelEntry> image)
    {
        _entries.Clear();
        _entries.AddRange(image);
        Durable = Tail.End;
    }

    private static LogTail TailOf(in ModelEntry entry) => new(entry.End, entry.Epoch, entry.Position, entry.Crc);

    /// <summary>The number of entries that end at or before a position.</summary>
    private int IndexAfter(LogPosition end)
    {
        int low = 0, high = _entries.Count;
        while (low < high)
        {
            int middle = (low + high) / 2;
            if (_entries[middle].End <= end)
                low = middle + 1;
            else
                high = middle;
        }

        return low;
    }
}
