using System.Globalization;
using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

/// <summary>Steps that change the store: what is sent, what must be answered.</summary>
internal sealed partial class ModelWorld
{
    private const int MostQueues = 12;
    private const uint NeverUsed = 100_000;

    private long NowMs => Math.Max(_time.UnixMs, _lastStoredMs);

    private async Task AppendMessagesAsync()
    {
        var items = new AppendItem[_random.Next(1, 4)];
        for (int i = 0; i < items.Length; i++)
        {
            // Now and then a queue that never was or is gone, or a batch that is too large.
            uint queue = PickQueue()?.Id ?? NeverUsed;
            if (_random.Next(50) == 0)
                queue = _random.Next(2) == 0 ? NeverUsed : _model.KnownIds.DefaultIfEmpty(NeverUsed).Min();
            byte[] batch = _random.Next(60) == 0 ? TestBatch.OfSize(9_000, _version++) : MakeBatch(ProducerSession.None, -1);
            items[i] = new AppendItem { Queue = new QueueId(queue), Batch = batch, TagBits = MakeTagBits() };
        }

        await SubmitAsync(items);
    }

    /// <summary>A batch of a producer: mostly the next one; else a retry, one far behind, one after a gap, one of
    /// another epoch.</summary>
    private async Task AppendOfProducerAsync()
    {
        if (_model.Producers.Count == 0 || PickQueue() is not { } queue)
        {
            await InitProducerAsync();
            return;
        }

        ModelProducer producer = Pick([.. _model.Producers.Values.OrderBy(one => one.Id)]);
        var session = new ProducerSession(producer.Id, producer.Epoch);
        var items = new List<AppendItem>();
        List<MessagesEvent> stored = producer.Stored.GetValueOrDefault(queue.Id) ?? [];
        int next = ModelState.NextSequence(stored);
        for (int i = _random.Next(1, 4); i > 0; i--)
        {
            byte[] batch = MakeBatch(session, next);
            RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _);
            int count = header.RecordsCount;
            items.Add(new AppendItem { Queue = new QueueId(queue.Id), Batch = batch, TagBits = MakeTagBits() });
            next += count;
        }

        switch (_random.Next(8))
        {
            case 0 when stored.Count > 0:
                MessagesEvent again = stored[Math.Max(0, stored.Count - _random.Next(1, 22))];
                items.Insert(_random.Next(items.Count + 1), new AppendItem { Queue = new QueueId(queue.Id), Batch = again.Batch });
                break;
            case 1:
                items[^1] = items[^1] with { Batch = MakeBatch(session, next + _random.Next(1, 50)) };
                break;
            case 2:
                int shift = _random.Next(2) == 0 ? -1 : 1;
                ProducerSession other = session with { Epoch = (short)Math.Max(0, session.Epoch + shift) };
                items[0] = items[0] with { Batch = MakeBatch(other, _random.Next(2)) };
                break;
            case 3:
                items.Add(items[_random.Next(items.Count)]);
                break;
            case 4:
                items[0] = items[0] with { Batch = MakeBatch(new ProducerSession(_random.Next(200), 0), 0) };
                break;
            default:
                break;
        }

        await SubmitAsync([.. items]);
    }

    private byte[] MakeBatch(ProducerSession producer, int baseSequence)
    {
        string[] bodies = new string[_random.Next(1, 5)];
        for (int i = 0; i < bodies.Length; i++)
            bodies[i] = $"{_seed}/{_version++}".PadRight(_random.Next(4) == 0 ? _random.Next(1_600) : _random.Next(60), '.');
        return TestBatch.Of(producer, baseSequence, bodies);
    }

    /// <summary>Mostly the bit of one tag, also those of some, none that is known, and what no sender would say.</summary>
    private uint MakeTagBits() => _random.Next(8) switch
    {
        0 => uint.MaxValue,
        1 => 0,
        2 or 3 => (uint)_random.Next(),
        var bit => 1u << (bit + (8 * _random.Next(4))),
    };

    /// <summary>Appends in one request and compares every answer with the model's.</summary>
    private async Task SubmitAsync(AppendItem[] items)
    {
        var durability = (Durability)_random.Next(3);
        bool mayWrite = _random.Next(2) == 0;
        var waiter = new TestWaiter();
        AppendStatus status;
        while ((status = Store.Append(items, durability, waiter, mayWrite)) == AppendStatus.NoRoom)
        {
            if (!await HasRoomAsync())
                return;
        }

        if (status == AppendStatus.Nothing && Array.TrueForAll(items, IsRefusal))
        {
            _histogram.Count($"answer: {items[0].Error}");
            return;
        }

        int end = -1;
        foreach (AppendItem item in items)
            end = Math.Max(end, Judge(item));
        Assert.Equal(end < 0 ? AppendStatus.Nothing : AppendStatus.Accepted, status);
        if (end >= 0)
            await AwaitSomeAsync(new Pending(waiter.Task, IsDurable(durability), end) { Waiter = waiter });
    }

    /// <summary>Every second answer is awaited, so that the store comes to its work between the steps.</summary>
    private async Task AwaitSomeAsync(Pending pending)
    {
        _pending.Add(pending);
        if (_random.Next(2) == 0 && !_faults.WasFull)
            await EndOf(pending.Task);
    }

    private bool IsRefusal(AppendItem item) => item.Error switch
    {
        ErrorCode.StorageFull when _faults.WasFull => true,
        ErrorCode.StoreFaulted when _faults.MayLatch => true,
        _ => false,
    };

    /// <summary>Compares one answer.</summary>
    /// <returns>After the entry that the answer waits for; 0 when it waits for none, -1 when there is an
    /// error.</returns>
    private int Judge(AppendItem item)
    {
        RecordBatch.TryReadHeader(item.Batch.Span, out RecordBatchHeader header, out _);
        (ErrorCode expected, MessagesEvent? original) = (ErrorCode.None, null);
        if (!_model.Queues.TryGetValue(item.Queue.Value, out ModelQueue? queue))
            expected = ErrorCode.UnknownQueue;
        else if (item.Batch.Length > Options.MaxBatchBytes)
            expected = ErrorCode.MessageTooLarge;
        else if (header.Producer.IsIdempotent)
            (expected, original) = _model.Check(header, item.Queue.Value);
        Assert.True(
            expected == item.Error,
            $"queue {item.Queue}, {header.Producer}, sequence {header.BaseSequence} + {header.RecordsCount}: answered "
            + $"{item.Error}; expected {expected}, first sent as entry {original?.Index} of {_events.Count}");
        _histogram.Count($"answer: {item.Error}");
        if (expected == ErrorCode.DuplicateSequence)
        {
            Assert.Equal(original!.FirstOffset, item.FirstOffset.Value);
            Assert.Equal(original.StoredMs, item.StoredTimeMs);
            return original.Index + 1;
        }

        if (expected != ErrorCode.None)
            return -1;
        Assert.Equal(queue!.End, item.FirstOffset.Value);
        Assert.Equal(Store.Epoch, item.Epoch);
        CheckStoredTime(item.StoredTimeMs);
        byte[] batch = item.Batch.ToArray();
        RecordBatch.Stamp(batch, item.FirstOffset, item.Epoch);
        Add(new MessagesEvent
        {
            Epoch = item.Epoch,
            QueueId = item.Queue,
            FirstOffset = item.FirstOffset.Value,
            StoredMs = item.StoredTimeMs,
            Batch = batch,
            TagBits = item.TagBits,
            Producer = header.Producer,
            BaseSequence = header.BaseSequence,
            Records = header.RecordsCount,
        });
        return _events.Count;
    }

    private void CheckStoredTime(long storedMs)
    {
        if (!_clockStepsBack)
            Assert.Equal(_time.UnixMs, storedMs);
        Assert.True(storedMs >= NowMs, $"the stored time fell from {NowMs} to {storedMs}");
        _lastStoredMs = storedMs;
    }

    private async Task AppendStateAsync()
    {
        var entries = new List<StateEntry>();
        var changes = new List<(string Key, string? Value)>();
        for (int i = _random.Next(1, 4); i > 0; i--)
        {
            string key = $"k{_random.Next(20)}";
            string? value = _random.Next(6) == 0 ? null : $"{_version++}".PadLeft(_random.Next(1, 700), '0');
            changes.Add((key, value));
            entries.Add(MemoryState.Entry(key, value));
        }

        var waiter = new TestWaiter();
        var change = new StateEvent(entries.Count, state => changes.ForEach(one => state.SetKey(one.Key, one.Value)))
        {
            Epoch = Store.Epoch,
        };
        if (await StageStateAsync(() => Store.AppendState([.. entries], waiter)))
        {
            Add(change);
            await AwaitSomeAsync(
                new Pending(waiter.Task, IsDurable(Durability.Policy), _events.Count) { Waiter = waiter });
        }
    }

    private async Task<bool> StageStateAsync(Func<AppendStatus> append)
    {
        try
        {
            while (append() == AppendStatus.NoRoom)
            {
                if (!await HasRoomAsync())
                    return false;
            }

            return true;
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.StoreFaulted && _faults.MayLatch)
        {
            _histogram.Count("answer: StoreFaulted");
            return false;
        }
    }

    /// <summary>Waits until an append is worth another try; false when there is no room for a while.</summary>
    private async Task<bool> HasRoomAsync()
    {
        _histogram.Count("no room in memory");
        if (_faults.IsFull)
            return false;
        await Store.WaitForRoomAsync(_cancel).AsTask().WaitAsync(Deadline, _cancel);
        return true;
    }

    private async Task OpenQueuesAsync()
    {
        if (_model.Queues.Count >= MostQueues)
        {
            await RemoveQueueAsync();
            return;
        }

        var topic = TopicId.NewId();
        int count = _random.Next(1, 4);
        string key = $"topic {_random.Next(5)}", value = string.Create(CultureInfo.InvariantCulture, $"{_version++}");
        var opened = new QueuesOpenedEvent(topic, count, (key, value)) { Epoch = Store.Epoch };
        Task<QueueId[]>? task = null;
        bool isStaged = await StageTaskAsync(
            cancel => task = Store.OpenQueuesAsync(topic, 0, count, [MemoryState.Entry(key, value)], cancel));
        if (!isStaged)
            return;
        Add(opened);
        _pending.Add(new Pending(task!, IsDurable(Durability.Policy), _events.Count)
        {
            Learn = () => Resolve(opened, task!.Result),
        });
        // Half of them are used at once, of the others a crash may make the ids known.
        if (_random.Next(2) == 0 && !_faults.WasFull && !_faults.MayLatch)
            await task!.WaitAsync(Deadline, _cancel);
    }

    private void Resolve(QueuesOpenedEvent opened, QueueId[] ids)
    {
        if (opened.Ids is not null)
            return;
        Assert.Equal(opened.QueueCount, ids.Length);
        opened.Ids = [.. ids.Select(id => id.Value)];
        opened.OpenQueues(_model);
    }

    private async Task RemoveQueueAsync()
    {
        if (_model.Queues.Count < 3 || PickQueue() is not { } queue)
            return;
        string key = "removed", value = $"{_version++}";
        Task? task = null;
        bool isStaged = await StageTaskAsync(cancel => task = Store.RemoveQueuesAsync(
            [new QueueId(queue.Id)], [MemoryState.Entry(key, value)], cancel));
        if (!isStaged)
            return;
        Add(new StateEvent(2, state =>
        {
            state.Remove(queue.Id);
            state.SetKey(key, value);
        })
        {
            Epoch = Store.Epoch,
        });
        _pending.Add(new Pending(task!, IsDurable(Durability.Policy), _events.Count));
    }

    /// <summary>Moves the starts of some queues, up to what is visible; the files go later, in the background.</summary>
    private async Task MoveStartsAsync()
    {
        // The store decides and stages on a thread of its own: only undisturbed is it known what it does.
        if (_faults.WasFull || _faults.MayLatch || _model.Queues.Count == 0)
            return;
        var moves = new Dictionary<uint, long>();
        var wanted = new List<(QueueId Queue, QueueOffset Start)> { (new QueueId(NeverUsed), new QueueOffset(5)) };
        foreach (ModelQueue queue in _model.Queues.Values.OrderBy(one => one.Id).Where(_ => _random.Next(3) > 0))
        {
            Assert.True(Store.TryGetQueue(new QueueId(queue.Id), out QueueView view));
            long start = _random.NextInt64(view.End.Value + 1);
            wanted.Add((view.Id, new QueueOffset(start)));
            if (start > queue.Start)
                moves.Add(queue.Id, start);
        }

        Assert.Equal(moves.Count, await Store.MoveStartsAsync(wanted, _cancel).WaitAsync(Deadline, _cancel));
        if (moves.Count == 0)
            return;
        Add(new StateEvent(moves.Count, state =>
        {
            foreach ((uint queue, long start) in moves)
                state.Queues[queue].Start = start;
        })
        {
            Epoch = Store.Epoch,
        });
        Vouch(_events.Count, IsDurable(Durability.Policy));
    }

    /// <summary>A new producer, or the next epoch of one, or an epoch that is over.</summary>
    private async Task InitProducerAsync()
    {
        ProducerSession known = ProducerSession.None;
        if (_model.Producers.Count > 0 && _random.Next(2) == 0)
        {
            ModelProducer one = Pick([.. _model.Producers.Values.OrderBy(producer => producer.Id)]);
            known = new ProducerSession(one.Id, (short)Math.Max(0, one.Epoch - (_random.Next(5) == 0 ? 1 : 0)));
        }

        ModelProducer? producer = _model.Producers.GetValueOrDefault(known.Id);
        bool isFenced = producer is not null && producer.Epoch != known.Epoch;
        bool isNew = producer is null;
        ProducerSession expected = isNew
            ? new ProducerSession(_model.NextProducer, 0)
            : new ProducerSession(known.Id, (short)(known.Epoch + 1));
        int most = Options.MaxProducers;
        long forgotten = isNew && _model.Producers.Count >= most
            ? _model.Producers.Values.MinBy(one => one.LastSeenMs)!.Id
            : -1;
        Task<ProducerSession>? task = null;
        bool isStaged = await StageTaskAsync(cancel => task = Store.InitProducerAsync(known, cancel).AsTask());
        if (!isStaged)
        {
            if (isFenced && task!.Exception?.InnerException is EQueueException { Code: ErrorCode.ProducerFenced })
                _histogram.Count("answer: init fenced");
            return;
        }

        Assert.False(isFenced, "an epoch that is over was given the next one");
        long nowMs = _time.UnixMs;
        Add(new StateEvent(1 + (forgotten >= 0 ? 1 : 0), state => state.SetProducer(expected, nowMs, forgotten))
        {
            Epoch = Store.Epoch,
        });
        _pending.Add(new Pending(task!, IsDurable: true, _events.Count)
        {
            Learn = () => Assert.Equal(expected, task!.Result),
        });
    }

    /// <summary>Starts an append that stages on its own.</summary>
    /// <returns>Whether it is staged; what is not staged is over when this returns.</returns>
    private async Task<bool> StageTaskAsync(Func<CancellationToken, Task> start)
    {
        using var giveUp = CancellationTokenSource.CreateLinkedTokenSource(_cancel);
        long appends = Store.Figures.Appends;
        Task task = start(giveUp.Token);
        if (Store.Figures.Appends > appends)
            return true;

        // No room in memory, or refused. It stages later, or never.
        if (_faults.WasFull)
            await giveUp.CancelAsync();
        await ((Task)task.ContinueWith(_ => { }, CancellationToken.None, TaskContinuationOptions.None, TaskScheduler.Default))
            .WaitAsync(Deadline, _cancel);
        if (task.IsCompletedSuccessfully)
            return true;
        if (Store.Figures.Appends > appends)
            return true;
        bool isAllowed = task.IsCanceled || task.Exception?.InnerException is EQueueException
        {
            Code: ErrorCode.StoreFaulted or ErrorCode.ProducerFenced,
        };
        Assert.True(isAllowed, $"refused: {task.Exception?.Message}");
        return false;
    }
}
