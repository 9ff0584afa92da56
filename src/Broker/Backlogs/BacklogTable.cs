using System.Collections.Concurrent;
using EQueue.MessageStore;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>The topics that bound their backlog, and the batches that wait for room in them.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class BacklogTable : IBrokerModule, IDisposable
{
    private const int SpansPerQueue = 64;

    private readonly ICommittedProgress _progress;
    private readonly BrokerCounters _counters;
    private readonly MemoryPool _parked;
    private readonly TimeProvider _time;
    private readonly ILogger _logger;
    private readonly DeadlineWheel<WaitingBatch> _wheel;
    private readonly ConcurrentDictionary<TopicId, TopicBacklog> _backlogs = new();
    private readonly Lock _parkedGate = new();
    private TaskCompletionSource? _room;
    private bool _isStopping;

    public BacklogTable(ModuleContext context, ICommittedProgress progress)
    {
        Store = context.Store;
        _progress = progress;
        _counters = context.Counters;
        _parked = context.Ledger.Parked;
        _time = context.Time;
        _logger = context.Logger;
        _wheel = new DeadlineWheel<WaitingBatch>(context.Time, OnDue);
    }

    public QueueStore Store { get; }

    /// <summary>Backlogs that have a bound now.</summary>
    public IEnumerable<TopicBacklog> BoundedTopics => _backlogs.Values.Where(backlog => backlog.IsBounded);

    /// <summary>Counts a batch that is refused for want of room.</summary>
    public void CountRejected() => Interlocked.Increment(ref _counters.RejectedBatches);

    /// <summary>Counts messages let go for want of room.</summary>
    public void CountDropped(long messages) => Interlocked.Add(ref _counters.DroppedMessages, messages);

    /// <summary>Bytes of the batches that wait.</summary>
    public long ParkedBytes => _parked.UsedBytes;

    /// <summary>Whether they take more than they may.</summary>
    public bool IsFull => ParkedBytes > _parked.MaxBytes;

    /// <summary>Puts the backlog of a topic under the topic's present rules; everybody waits until
    /// <see cref="MeasureAsync"/>.</summary>
    /// <returns>The backlog; null when there is no bound and there was none since the broker's start.</returns>
    public TopicBacklog? ApplyRules(TopicRecord topic)
    {
        var rules = BacklogRules.From(topic.Settings);
        if (rules is null && !_backlogs.ContainsKey(topic.Id))
            return null;
        TopicBacklog backlog = _backlogs.GetOrAdd(
            topic.Id, static (_, one) => new TopicBacklog(one.Table, one.Name), (Table: this, topic.Name));
        backlog.BeginMeasuring(rules);
        if (_isStopping)
            backlog.Close(ErrorCode.ShuttingDown);
        return backlog;
    }

    /// <summary>Counts what the store holds of a topic and what groups have committed, then lets in.</summary>
    /// <param name="backlog">Of a topic that was published: who sends to it finds it; null = it has none.</param>
    /// <param name="queues">The topic's.</param>
    /// <exception cref="DiskException">An index file cannot be read; what was measured holds.</exception>
    public async Task MeasureAsync(TopicBacklog? backlog, IReadOnlyCollection<QueueId> queues)
    {
        if (backlog is null)
            return;
        try
        {
            if (!backlog.IsBounded)
                return;
            foreach (QueueId queue in queues)
                await MeasureQueueAsync(backlog, queue, queues.Count);
            _progress.GiveTo(queues.ToHashSet(), backlog);
        }
        finally
        {
            backlog.EndMeasuring();
        }
    }

    /// <summary>The topic is gone; who waits gets UnknownQueue.</summary>
    public void Remove(TopicId topic)
    {
        if (_backlogs.TryRemove(topic, out TopicBacklog? backlog))
            backlog.Close(ErrorCode.UnknownQueue);
    }

    /// <summary>A batch may wait so long from now on; its bytes count.</summary>
    public void BeginWait(WaitingBatch batch, TimeSpan wait)
    {
        _parked.Count(batch.ParkedBytes);
        batch.DueAt = _time.GetTimestamp() + (long)(wait.TotalSeconds * _time.TimestampFrequency);
    }

    /// <summary>Puts a batch in line.</summary>
    /// <param name="batch">Not in any line; its wait has begun.</param>
    public void Park(WaitingBatch batch)
    {
        Interlocked.Increment(ref _counters.ParkedProduces);
        BrokerConnection peer = batch.Peer;
        peer.Feature<PeerBatches>().Add(batch);
        TimeSpan left = LeftOf(batch);
        _wheel.Add(batch, left > TimeSpan.Zero ? left : TimeSpan.Zero);
        batch.Backlog.Wait(batch);
        if (batch.IsDue)
            OnDue(batch);
        if (peer.IsClosed)
            OnDisconnected(peer);
    }

    /// <summary>A batch that was parked is settled.</summary>
    public void Unpark(WaitingBatch batch)
    {
        _wheel.Remove(batch);
        batch.Peer.Feature<PeerBatches>().Remove(batch);
        Interlocked.Decrement(ref _counters.ParkedProduces);
        _parked.Give(batch.ParkedBytes);
        if (IsFull)
            return;
        lock (_parkedGate)
        {
            _room?.TrySetResult();
            _room = null;
        }
    }

    /// <summary>Completes when the batches that wait take no more than they may.</summary>
    public async ValueTask WaitForRoomAsync(CancellationToken cancellationToken)
    {
        while (IsFull)
        {
            Task room;
            lock (_parkedGate)
            {
                _room ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
                room = _room.Task;
            }

            if (IsFull)
                await room.WaitAsync(cancellationToken);
        }
    }

    /// <summary>Waits until the store has room again.</summary>
    /// <returns>False when the batch's time is over or its sender is gone.</returns>
    public async ValueTask<bool> WaitForStoreAsync(WaitingBatch batch)
    {
        TimeSpan left = LeftOf(batch);
        if (left <= TimeSpan.Zero || batch.Peer.IsClosed)
            return false;
        using var deadline = new CancellationTokenSource(left, _time);
        using var ended = CancellationTokenSource.CreateLinkedTokenSource(deadline.Token, batch.Peer.Closed);
        try
        {
            await Store.WaitForRoomAsync(ended.Token);
            return !ended.IsCancellationRequested;
        }
        catch (OperationCanceledException)
        {
            return false;
        }
    }

    /// <summary>Drops what waits of a connection that is gone.</summary>
    public void OnDisconnected(BrokerConnection peer)
    {
        foreach (WaitingBatch batch in peer.FindFeature<PeerBatches>()?.ToArray() ?? [])
        {
            if (batch.Backlog.TryTake(batch))
                batch.Refuse(ErrorCode.ShuttingDown);
        }
    }

    /// <summary>A group's progress in a queue has its place in the log. The caller holds the group's gate.</summary>
    /// <param name="name">As progress is kept: the group, or group/instance.</param>
    /// <param name="hasMembers">Whether the group has members, or had some.</param>
    /// <param name="queue">Where.</param>
    /// <param name="next">The first message not processed; null = the progress is gone.</param>
    public void OnProgress(string name, bool hasMembers, QueueId queue, QueueOffset? next)
    {
        if (!_backlogs.IsEmpty && Store.TryGetQueue(queue, out QueueView view)
            && _backlogs.TryGetValue(view.TopicId, out TopicBacklog? backlog))
        {
            backlog.Commit(name, hasMembers, queue, next);
        }
    }

    /// <summary>A group without members has its first one. The caller holds the group's gate.</summary>
    public void OnFirstMember(string group)
    {
        foreach (TopicBacklog backlog in _backlogs.Values)
            backlog.NoteMembers(group);
    }

    /// <summary>Takes over where queues begin, after retention has moved starts.</summary>
    public void RefreshStarts()
    {
        foreach (TopicBacklog backlog in _backlogs.Values)
        {
            foreach (QueueId queue in backlog.Queues)
            {
                if (Store.TryGetQueue(queue, out QueueView view))
                    backlog.MoveStart(queue, view.Start);
            }
        }
    }

    /// <summary>Lets go of the oldest messages of a topic.</summary>
    /// <returns>Where its queues begin now; null when the store could not.</returns>
    public async Task<IReadOnlyList<(QueueId Queue, QueueOffset Start)>?> MoveStartsAsync(
        string topic, IReadOnlyList<(QueueId Queue, QueueOffset Start)> starts)
    {
        try
        {
            await Store.MoveStartsAsync(starts, CancellationToken.None);
        }
        catch (Exception exception) when (exception is EQueueException or DiskException or StoreFormatException)
        {
            _logger.BacklogNotCut(topic, exception.Message);
            return null;
        }

        var moved = new List<(QueueId, QueueOffset)>(starts.Count);
        foreach ((QueueId queue, _) in starts)
        {
            if (Store.TryGetQueue(queue, out QueueView view))
                moved.Add((queue, view.Start));
        }

        return moved;
    }

    /// <summary>Answers everybody who waits and lets no sender wait any more, so that connections can drain.</summary>
    public void StopWaiting()
    {
        _isStopping = true;
        foreach (TopicBacklog backlog in _backlogs.Values)
            backlog.Close(ErrorCode.ShuttingDown);
    }

    public void Dispose() => _wheel.Dispose();

    private async Task MeasureQueueAsync(TopicBacklog backlog, QueueId queue, int queueCount)
    {
        if (!Store.TryGetQueue(queue, out QueueView view))
            return;
        long end = backlog.EndToMeasure(view);
        var marks = new List<(long, long)>();
        if (backlog.CountsBytes)
        {
            long from = view.Start.Value;
            long left = end - from;
            for (int span = 1; span <= SpansPerQueue && left > 0; span++)
            {
                long to = view.Start.Value + (left * span / SpansPerQueue);
                if (to == from)
                    continue;
                long bytes = await Store.SumBytesAsync(
                    queue, new QueueOffset(from), new QueueOffset(to), CancellationToken.None);
                marks.Add((to, bytes));
                from = to;
            }
        }

        backlog.Measure(queue, view.Start.Value, end, marks, queueCount);
    }

    private TimeSpan LeftOf(WaitingBatch batch) => _time.GetElapsedTime(_time.GetTimestamp(), batch.DueAt);

    private static void OnDue(WaitingBatch batch)
    {
        batch.IsDue = true;
        if (batch.Backlog.TryTake(batch))
            batch.Refuse(ErrorCode.Timeout);
    }
}
