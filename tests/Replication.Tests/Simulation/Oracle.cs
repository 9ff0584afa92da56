using EQueue.Protocol;

namespace EQueue.Replication.Tests.Simulation;

/// <summary>Knows everything that was ever committed and written; says what must never be.</summary>
internal sealed class Oracle
{
    private readonly List<ModelEntry> _committed = [];
    private readonly Dictionary<(int Epoch, LogPosition Position), uint> _written = [];
    private readonly Dictionary<(int Epoch, LogPosition Position), uint> _published = [];
    private readonly HashSet<int> _epochs = [];
    private readonly HashSet<int> _opened = [];

    /// <summary>The first thing that must never be; null when there was none.</summary>
    public string? Violation { get; private set; }

    /// <summary>Whether lost commits count: not after something that the promise leaves out.</summary>
    public bool ForgivesLoss { get; set; }

    public IReadOnlyList<ModelEntry> Committed => _committed;

    public LogPosition CommittedEnd => _committed.Count == 0 ? default : _committed[^1].End;

    /// <summary>Epochs in which something was committed.</summary>
    public int EpochsWithCommits => _epochs.Count;

    public void Fail(string what) => Violation ??= what;

    /// <summary>A leader has written an entry of its epoch.</summary>
    public void OnWritten(string node, in ModelEntry entry)
    {
        (int Epoch, LogPosition Position) key = (entry.Epoch, entry.Position);
        // After a restore of etcd a number can be given twice; what counts then is that only one is ever committed.
        if (!ForgivesLoss && _written.TryGetValue(key, out uint crc) && crc != entry.Crc)
            Fail($"{node} writes another entry of epoch {entry.Epoch} at {entry.Position}");
        _written[key] = entry.Crc;
    }

    /// <summary>A leader tells its store what is committed.</summary>
    public void OnPublished(string node, ModelLog log, LogPosition committed, int epoch, bool isOpen)
    {
        if (log.Tail.End < committed)
        {
            Fail($"{node} publishes {committed}, its log ends at {log.Tail.End}");
            return;
        }

        if (ForgivesLoss)
            CheckEpoch(node, log, committed, epoch);
        LogPosition common = committed < CommittedEnd ? committed : CommittedEnd;
        if (isOpen && _opened.Add(epoch))
            CheckOpened(node, log, epoch);
        CheckEqual(node, log, common);
        if (committed <= CommittedEnd)
            return;
        foreach (ModelEntry entry in log.Entries.Skip(_committed.Count))
        {
            if (entry.End > committed)
                break;
            _committed.Add(entry);
        }

        _epochs.Add(epoch);
    }

    /// <summary>What is committed in an epoch is the same at whoever publishes it.</summary>
    private void CheckEpoch(string node, ModelLog log, LogPosition committed, int epoch)
    {
        for (int i = log.Entries.Count - 1; i >= 0 && log.Entries[i].Epoch >= epoch; i--)
        {
            ModelEntry entry = log.Entries[i];
            if (entry.End > committed || entry.Epoch != epoch)
                continue;
            if (!_published.TryAdd((epoch, entry.Position), entry.Crc) && _published[(epoch, entry.Position)] != entry.Crc)
                Fail($"epoch {epoch} has two contents at {entry.Position}, {node} commits the second");
        }
    }

    /// <summary>Who opens an epoch has all that was committed in the epochs before it.</summary>
    private void CheckOpened(string node, ModelLog log, int epoch)
    {
        int last = _committed.FindLastIndex(entry => entry.Epoch < epoch);
        if (last < 0 || ForgivesLoss)
            return;
        if (last >= log.Entries.Count || log.Entries[last].Chain != _committed[last].Chain)
            Fail($"{node} opens epoch {epoch} without what was committed at {_committed[last].Position}");
    }

    /// <summary>At the end, every replica equals what was committed, as far as both go.</summary>
    public void CheckEqual(string node, ModelLog log, LogPosition upTo)
    {
        if (ForgivesLoss || upTo.Value == 0)
            return;
        int index = _committed.FindLastIndex(entry => entry.End <= upTo);
        if (index < 0)
            return;
        if (index >= log.Entries.Count || log.Entries[index].Chain != _committed[index].Chain)
            Fail($"{node} does not have what was committed at {_committed[index].Position} in epoch {_committed[index].Epoch}");
    }
}
