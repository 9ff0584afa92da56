using System.Globalization;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>Opening after an end of any kind, and the comparison of everything that the store then has.</summary>
internal sealed partial class ModelWorld
{
    /// <summary>Opens, compares, dies, opens and compares again; then the life goes on.</summary>
    private async Task ReopenAsync(bool isPowerCut)
    {
        int floor = isPowerCut ? _durableFloor : _writtenFloor;
        await OpenAsync();
        List<EntrySummary> entries = ReadLog();
        List<LogEvent> removed = CompareLog(entries, out int end);
        // What was promised and has nothing behind it must have been removed, too.
        for (; end < floor; end++)
            removed.Add(_events[end]);
        _histogram.Count("entries lost, not promised", _events.Count - end);
        _events.RemoveRange(end, _events.Count - end);
        BuildModel();
        Assert.All(removed, entry => Assert.True(IsDead(entry), $"entry {entry.Index} was kept and is gone"));
        _histogram.Count("dead entries gone", removed.Count);
        // Opening makes what it found durable before it takes anything new.
        Vouch(_events.Count, isDurable: true);
        _writtenFloor = _durableFloor = _events.Count;
        await CompareStoreAsync();
        string first = Describe(entries);

        SimulatedDisk left = _random.Next(3) == 0
            ? _disk.CutPower(_random.Next(), (PowerCutStyle)_random.Next(4))
            : _disk.KillProcess();
        await EndLifeAsync();
        _disk = left;
        await OpenAsync();
        entries = ReadLog();
        removed = CompareLog(entries, out _);
        Assert.All(removed, entry => Assert.True(IsDead(entry), $"entry {entry.Index} was kept and is gone"));
        await CompareStoreAsync();
        Assert.Equal(first, Describe(entries));
        _histogram.Count("reopened and compared");
    }

    private async Task OpenAsync()
    {
        _faults.Attach(_disk);
        _machine = new MemoryState();
        _store = await OpenStoreAsync();
    }

    /// <summary>The entries that earlier lives left, checked byte by byte.</summary>
    private List<EntrySummary> ReadLog()
    {
        SimulatedDisk disk = _disk.Copy();
        LogVerification found = LogVerifier.Verify(disk, Folder, _cancel);
        Assert.Empty(found.BadRanges);
        var entries = new List<EntrySummary>();
        LogInspector.Open(disk, Folder).ReadEntries(
            default,
            entry =>
            {
                if (entry.Epoch < Store.Epoch && entry.Kind is EntryKind.Messages or EntryKind.State)
                    entries.Add(entry);
                return true;
            },
            _cancel);
        // A packed segment has its entries queue by queue.
        entries.Sort((left, right) => left.Position.CompareTo(right.Position));
        return entries;
    }

    /// <summary>The log is the list of what was sent, but for what retention took.</summary>
    /// <param name="entries">What the log has.</param>
    /// <param name="end">After the last of what was sent that the log has.</param>
    /// <returns>What was sent before that and is not there.</returns>
    private List<LogEvent> CompareLog(List<EntrySummary> entries, out int end)
    {
        var removed = new List<LogEvent>();
        long stateOffset = 0;
        int index = 0;
        _lastStoredMs = 0;
        foreach (EntrySummary entry in entries)
        {
            while (index < _events.Count && !IsThat(entry, _events[index], stateOffset))
                Pass(_events[index++]);
            Assert.True(index < _events.Count, $"{entry} was never sent, or not after what is before it");
            stateOffset += _events[index].Kind == EntryKind.State ? _events[index].Count : 0;
            index++;
            _lastStoredMs = Math.Max(_lastStoredMs, entry.Stored.ToUnixTimeMilliseconds());
        }

        end = index;
        return removed;

        void Pass(LogEvent sent)
        {
            removed.Add(sent);
            stateOffset += sent.Kind == EntryKind.State ? sent.Count : 0;
        }
    }

    private static bool IsThat(EntrySummary entry, LogEvent sent, long stateOffset)
    {
        var messages = sent as MessagesEvent;
        return entry.Kind == sent.Kind && entry.Queue.Value == sent.Queue && entry.RecordCount == sent.Count
            && entry.Epoch == sent.Epoch && entry.FirstOffset.Value == (messages?.FirstOffset ?? stateOffset)
            && entry.Producer == (messages?.Producer ?? ProducerSession.None);
    }

    /// <summary>Whether retention may take an entry: state that a snapshot knows, messages that nobody may
    /// read.</summary>
    private bool IsDead(LogEvent entry) =>
        entry is not MessagesEvent messages
        || !_model.Queues.TryGetValue(messages.Queue, out ModelQueue? queue)
        || messages.EndOffset <= queue.Start;

    private void BuildModel()
    {
        foreach (QueuesOpenedEvent opened in _events.OfType<QueuesOpenedEvent>().Where(one => one.Ids is null))
        {
            opened.Ids =
            [
                .. Store.Queues.Where(view => view.TopicId == opened.Topic)
                    .OrderBy(view => view.Number).Select(view => view.Id.Value),
            ];
            Assert.Equal(opened.QueueCount, opened.Ids.Length);
            _histogram.Count("queues known by a crash");
        }

        _model = new ModelState();
        foreach (LogEvent entry in _events)
            entry.ApplyTo(_model);
    }

    private async Task CompareStoreAsync()
    {
        Assert.Equal(_model.DescribeMachine(), _machine.ToString());
        QueueView[] views = [.. Store.Queues.OrderBy(view => view.Id.Value)];
        Assert.Equal(_model.Queues.Keys.Order(), views.Select(view => view.Id.Value));
        foreach (QueueView view in views)
        {
            ModelQueue queue = _model.Queues[view.Id.Value];
            Assert.Equal((queue.Topic, queue.Number), (view.TopicId, view.Number));
            Assert.Equal(
                (queue.Start, queue.End, queue.End), (view.Start.Value, view.End.Value, view.StagedEnd.Value));
            Assert.Equal(queue.Batches.LastOrDefault()?.StoredMs ?? 0, view.LastStoredTimeMs);
            if (queue.Start == 0)
                Assert.Equal(queue.Batches.Sum(batch => (long)batch.Batch.Length + EntryHeader.Length), view.Bytes);
            for (long from = queue.Start; from < queue.End;)
            {
                long next = await ReadAndCheckAsync(queue, from, 60_000, fromDisk: false);
                Assert.True(next > from, $"queue {queue.Id} cannot be read at {from}");
                from = next;
            }
        }

        await CompareProducersAsync();
    }

    /// <summary>Asks about producers by batches that must not be stored: repeated ones, some after a gap, some of an
    /// epoch that is over.</summary>
    private async Task CompareProducersAsync()
    {
        foreach (ModelProducer producer in _model.Producers.Values)
        {
            var session = new ProducerSession(producer.Id, producer.Epoch);
            foreach ((uint queue, List<MessagesEvent> stored) in producer.Stored)
            {
                int next = ModelState.NextSequence(stored);
                await ProbeAsync(queue, TestBatch.Of(session, next + 1, "after a gap"));
                await ProbeAsync(queue, stored[^1].Batch);
                await ProbeAsync(queue, stored[Math.Max(0, stored.Count - ModelState.Window)].Batch);
                await ProbeAsync(queue, stored[Math.Max(0, stored.Count - ModelState.Window - 1)].Batch);
            }

            if (producer.Epoch > 0 && _model.Queues.Count > 0)
            {
                var over = new ProducerSession(producer.Id, (short)(producer.Epoch - 1));
                await ProbeAsync(_model.Queues.Keys.Min(), TestBatch.Of(over, 0, "fenced"));
            }
        }
    }

    private async Task ProbeAsync(uint queue, byte[] batch)
    {
        var items = new AppendItem[] { new() { Queue = new QueueId(queue), Batch = batch } };
        var waiter = new TestWaiter();
        int count = _events.Count;
        AppendStatus status;
        while ((status = Store.Append(items, Durability.Policy, waiter)) == AppendStatus.NoRoom)
            await Store.WaitForRoomAsync(_cancel).AsTask().WaitAsync(Deadline, _cancel);
        int end = Judge(items[0]);
        Assert.Equal(end < 0 ? AppendStatus.Nothing : AppendStatus.Accepted, status);
        Assert.Equal(count, _events.Count);
        if (end >= 0)
            _pending.Add(new Pending(waiter.Task, IsDurable(Durability.Policy), end) { Waiter = waiter });
    }

    private string Describe(List<EntrySummary> entries)
    {
        IEnumerable<string> queues = Store.Queues.OrderBy(view => view.Id.Value).Select(view => view.ToString());
        IEnumerable<string> kept = entries.Where(IsKept).Select(entry => entry.ToString());
        return string.Join('\n', queues.Concat(kept).Append(_machine.ToString()));
    }

    private bool IsKept(EntrySummary entry) =>
        entry.Kind == EntryKind.Messages
        && _model.Queues.TryGetValue(entry.Queue.Value, out ModelQueue? queue)
        && entry.FirstOffset.Value + entry.RecordCount > queue.Start;

    /// <summary>What is on the disk, for whoever looks into a failure.</summary>
    private string DescribeFiles()
    {
        SimulatedDisk disk = _disk.Copy();
        var lines = disk.Files.Select(path => $"{path} {disk.ReadAll(path).Length}").ToList();
        var inspector = LogInspector.Open(disk, Folder);
        lines.AddRange(inspector.Snapshots.Select(snapshot => $"snapshot {snapshot}"));
        foreach (string path in disk.Files.Where(path => path.EndsWith(LogFiles.IndexSuffix, StringComparison.Ordinal)))
        {
            lines.Add(path);
            lines.AddRange(DescribeIndex(disk, path, inspector.LogId));
        }

        inspector.ReadEntries(
            default,
            entry =>
            {
                lines.Add($"{entry.Position}+{entry.Size} {entry.Kind} of queue {entry.Queue}, epoch {entry.Epoch}, "
                    + $"offset {entry.FirstOffset}+{entry.RecordCount}, producer {entry.Producer.Id}");
                return true;
            },
            CancellationToken.None);
        return string.Join('\n', lines);
    }

    private static IEnumerable<string> DescribeIndex(SimulatedDisk disk, string path, Guid logId)
    {
        string position = Path.GetFileName(path).Split('.')[0];
        var start = new LogPosition(long.Parse(position, CultureInfo.InvariantCulture));
        FileVerdict verdict = SealedIndex.TryOpen(disk, path, logId, start, out SealedIndex? index);
        using (index)
        {
            return index is null
                ? [$"  {verdict}"]
                : [.. index.ReadQueues().Select(row => $"  queue {row.Queue}: {row.EntryCount} entries from "
                    + $"{row.FirstOffset}, next {row.NextOffset}")];
        }
    }
}
