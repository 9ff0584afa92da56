using System.Buffers;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>Steps that look at the store.</summary>
internal sealed partial class ModelWorld
{
    private async Task ReadAsync()
    {
        if (PickQueue() is not { } queue || _random.Next(40) == 0)
        {
            ReadResult unknown = Store.Read(new QueueId(NeverUsed), default, 1_000, new ArrayBufferWriter<byte>());
            Assert.Equal(ErrorCode.UnknownQueue, unknown.Error);
            return;
        }

        long from = _random.Next(6) switch
        {
            0 => queue.End + _random.Next(3),
            1 => Math.Max(0, queue.End - _random.Next(5)),
            2 => -1,
            _ => _random.NextInt64(queue.End + 1),
        };
        int maxBytes = _random.Next(2) == 0 ? 1 + _random.Next(2_000) : 50_000;
        bool fromDisk = _random.Next(3) == 0;
        uint mask = _random.Next(3) switch { 0 => 0, 1 => uint.MaxValue, _ => MakeTagBits() };
        await ReadAndCheckAsync(queue, from, maxBytes, fromDisk, mask);
    }

    /// <summary>Reads once and compares with what was sent.</summary>
    /// <returns>Where to go on; <paramref name="from"/> at the visible end and outside the queue.</returns>
    private async Task<long> ReadAndCheckAsync(
        ModelQueue queue, long from, int maxBytes, bool fromDisk, uint mask = uint.MaxValue)
    {
        var id = new QueueId(queue.Id);
        Assert.True(Store.TryGetQueue(id, out QueueView before));
        var bytes = new ArrayBufferWriter<byte>();
        ReadResult result = fromDisk ? default : Store.Read(id, new QueueOffset(from), maxBytes, mask, bytes);
        string where = fromDisk ? "disk" : result.NeedsDisk ? "memory, then disk" : "memory";
        if (fromDisk || result.NeedsDisk)
        {
            Assert.Equal(0, bytes.WrittenCount);
            // What the index in memory told to pass over need not be looked at again.
            QueueOffset at = fromDisk ? new QueueOffset(from) : result.NextOffset;
            result = await Store.ReadFromDiskAsync(id, at, maxBytes, mask, bytes, _cancel)
                .AsTask().WaitAsync(Deadline, _cancel);
            _histogram.Count("read from disk");
        }
        else
        {
            _histogram.Count("read from memory");
        }

        Assert.Equal(bytes.WrittenCount, result.Size);
        Assert.Equal(queue.Start, result.Start.Value);
        Assert.InRange(result.VisibleEnd.Value, before.End.Value, queue.End);
        if (from < result.Start.Value || from > result.VisibleEnd.Value)
        {
            // What is staged and not visible yet is waited for; it may have become either meanwhile.
            bool isStaged = from > result.VisibleEnd.Value && from <= queue.End;
            Assert.True(
                result.Error == ErrorCode.OffsetOutOfRange || (isStaged && result.Error == ErrorCode.None),
                $"{result} from {from} of a queue that ends at {queue.End}");
            Assert.Equal(0, result.Size);
            return from;
        }

        Assert.True(
            result.Error == ErrorCode.None,
            $"queue {queue.Id}, read at {from} ({where}): {result}; it ends at {queue.End}");
        if (result.NextOffset.Value == from)
        {
            Assert.Equal(0, result.Size);
            Assert.Equal(result.VisibleEnd.Value, from);
            return from;
        }

        return CheckEntries(queue, from, maxBytes, mask, result, bytes.WrittenSpan);
    }

    /// <summary>Everything wanted up to the next offset, nothing else, and never nothing while something is there.
    /// </summary>
    private long CheckEntries(
        ModelQueue queue, long from, int maxBytes, uint mask, in ReadResult result, ReadOnlySpan<byte> bytes)
    {
        List<TestBatch.Entry> entries = TestBatch.Split(bytes, new QueueId(queue.Id));
        Assert.True(entries.Count <= 1 || result.Size <= maxBytes, $"{result.Size} bytes given, {maxBytes} asked for");
        long next = result.NextOffset.Value;
        int index = queue.IndexOf(from), end = queue.IndexOf(next - 1) + 1;
        MessagesEvent[] wanted =
            [.. queue.Batches.Take(index..end).Where(batch => TagBits.MayMatch(batch.TagBits, mask))];
        Assert.True(
            wanted.Length == entries.Count,
            $"queue {queue.Id}: {wanted.Length} batches from {from} to {next} have a bit of {mask:x}, {entries.Count} came");
        if (wanted.Length < end - index)
            _histogram.Count(wanted.Length == 0 ? "passed over all" : "passed over some");
        foreach ((MessagesEvent sent, TestBatch.Entry entry) in wanted.Zip(entries))
        {
            Assert.True(
                sent.FirstOffset == entry.FirstOffset && sent.Batch.AsSpan().SequenceEqual(entry.Batch),
                $"queue {queue.Id}: read offset {entry.FirstOffset} of epoch {entry.Epoch}; expected "
                + $"{sent.FirstOffset} of epoch {sent.Epoch}, or other bytes");
            Assert.Equal(sent.StoredMs, entry.StoredTimeMs);
        }

        MessagesEvent last = queue.Batches[end - 1];
        Assert.Equal(last.EndOffset, next);
        Assert.True(last.EndOffset <= result.VisibleEnd.Value, "something was read that is not visible yet");
        // Whoever read it may have acted on it: it must not go away any more.
        Vouch(last.Index + 1, _policy == FlushPolicy.Sync);
        return last.EndOffset;
    }

    private async Task FindTimeAsync()
    {
        if (PickQueue() is not { } queue)
            return;
        var id = new QueueId(queue.Id);
        long time = queue.Batches.Count == 0 || _random.Next(8) == 0
            ? FirstMs + _random.Next(1_000_000)
            : Pick(queue.Batches).StoredMs + _random.Next(-1, 2);
        Assert.True(Store.TryGetQueue(id, out QueueView before));
        long found = (await Store.FindOffsetAsync(id, time, _cancel).AsTask().WaitAsync(Deadline, _cancel)).Value;
        Assert.True(Store.TryGetQueue(id, out QueueView after));
        MessagesEvent? first = queue.Batches.Find(batch => batch.StoredMs >= time);
        if (first is not null && first.FirstOffset < before.End.Value)
            Assert.Equal(Math.Max(first.FirstOffset, queue.Start), found);
        else if (found != first?.FirstOffset)
            Assert.InRange(found, before.End.Value, after.End.Value);
    }

    private Task WatchAsync()
    {
        if (PickQueue() is not { } queue)
            return Task.CompletedTask;
        long from = Math.Max(0, queue.End - _random.Next(3));
        var id = new QueueId(queue.Id);
        var signal = new TestSignal();
        Assert.True(Store.TryGetQueue(id, out QueueView before));
        bool isTaken = Store.Watch(id, new QueueOffset(from), signal);
        Assert.True(Store.TryGetQueue(id, out QueueView after));
        Assert.True(!isTaken || from >= before.End.Value, "a watch was taken for what is visible");
        Assert.True(isTaken || from < after.End.Value, "a watch was refused for what is not visible");
        if (isTaken)
            _watches.Add(new Watching(id, from, signal));
        return Task.CompletedTask;
    }

    private Task UnwatchAsync()
    {
        if (_watches.Count == 0)
            return Task.CompletedTask;
        Watching watching = Pick(_watches);
        _watches.Remove(watching);
        Store.Unwatch(watching.Queue, watching.Signal);
        return Task.CompletedTask;
    }

    /// <summary>Waits until everything is acknowledged and visible; then every watch is told, or has nothing to
    /// tell.</summary>
    private async Task SettleAsync()
    {
        _faults.Clear();
        foreach (Pending pending in _pending.ToArray())
            await EndOf(pending.Task);
        TakeAnswers();
        await Eventually.TrueAsync(() => Store.Completion.IsFaulted || IsSettled());
        if (Store.Completion.IsFaulted)
            return;
        foreach (Watching watching in _watches.ToArray())
        {
            bool isThere = Store.TryGetQueue(watching.Queue, out QueueView view);
            if (isThere && view.End.Value <= watching.From)
            {
                Assert.Equal(0, watching.Signal.Calls);
                continue;
            }

            Assert.Equal(watching.Queue, await watching.Signal.Task.WaitAsync(Deadline, _cancel));
            Assert.Equal(1, watching.Signal.Calls);
            _watches.Remove(watching);
            _histogram.Count(isThere ? "watch told: visible" : "watch told: queue gone");
        }
    }

    private bool IsSettled() =>
        !Store.Figures.IsReadOnly
        && Store.Queues.All(view => _model.Queues.TryGetValue(view.Id.Value, out ModelQueue? queue)
            && view.End.Value == queue.End && view.StagedEnd.Value == queue.End);

    /// <summary>Waits for the end of a task, however it ends.</summary>
    private Task EndOf(Task task) => task.ContinueWith(
        _ => { }, CancellationToken.None, TaskContinuationOptions.ExecuteSynchronously, TaskScheduler.Default)
        .WaitAsync(Deadline, _cancel);
}
