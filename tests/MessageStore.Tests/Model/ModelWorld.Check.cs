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
        Assert.True(entries.Count >= floor, $"{floor} entries were promised; the log has {entries.Count}");
        Assert.True(entries.Count <= _events.Count, $"{_events.Count} entries were sent; the log has {entries.Count}");
        CompareLog(entries);
        _histogram.Count("entries lost, not promised", _events.Count - entries.Count);
        _events.RemoveRange(entries.Count, _events.Count - entries.Count);
        BuildModel();
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
        CompareLog(entries);
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
        return entries;
    }

    /// <summary>The log is the list of what was sent, from its begin.</summary>
    private void CompareLog(List<EntrySummary> entries)
    {
        long stateOffset = 0;
        _lastStoredMs = 0;
        for (int i = 0; i < entries.Count; i++)
        {
            (EntrySummary entry, LogEvent sent) = (entries[i], _events[i]);
            var messages = sent as MessagesEvent;
            Assert.True(
                entry.Kind == sent.Kind && entry.Queue.Value == sent.Queue && entry.RecordCount == sent.Count
                && entry.Epoch == sent.Epoch && entry.FirstOffset.Value == (messages?.FirstOffset ?? stateOffset)
                && entry.Producer == (messages?.Producer ?? ProducerSession.None),
                $"entry {i} of the log is {entry}; sent was {sent.Kind} of queue {sent.Queue}, epoch {sent.Epoch}");
            stateOffset += messages is null ? sent.Count : 0;
            _lastStoredMs = Math.Max(_lastStoredMs, entry.Stored.ToUnixTimeMilliseconds());
        }
    }

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
        return string.Join('\n', queues.Concat(entries.Select(entry => entry.ToString())).Append(_machine.ToString()));
    }

    /// <summary>What is on the disk, for whoever looks into a failure.</summary>
    private string DescribeFiles()
    {
        SimulatedDisk disk = _disk.Copy();
        var lines = disk.Files.Select(path => $"{path} {disk.ReadAll(path).Length}").ToList();
        var inspector = LogInspector.Open(disk, Folder);
        lines.AddRange(inspector.Snapshots.Select(snapshot => $"snapshot {snapshot}"));
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
}
