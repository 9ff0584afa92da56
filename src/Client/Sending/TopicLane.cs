namespace EQueue.Client;

/// <summary>A topic as a producer sees it: its queues, and whose turn it is.</summary>
/// <remarks>
/// The usual message finds the route known and memory free and goes straight into a batch. One that must wait, for the
/// route or for memory, stands in line; while any waits, those that come later wait behind it, so that the order of the
/// calls is kept. While a broker's share of the route is not known, those with keys wait for it in a line of their own,
/// so that the others can go on. Any thread; what a lane calls, it calls under its gate.
/// </remarks>
internal sealed class TopicLane : IAdmission
{
    private readonly SendRoutes _owner;
    private TopicRoutes? _routes;
    private int _stickyIndex;
    private long _stickyBytes;
    private int _isRefreshing;

    public TopicLane(SendRoutes owner, string name)
    {
        _owner = owner;
        Name = name;
        Lines = new SendLines(owner.Terms, this);
    }

    /// <inheritdoc/>
    public string Name { get; }

    /// <summary>The sends that wait for the route or for memory.</summary>
    public SendLines Lines { get; }

    /// <summary>Why the route could not be learned the last time; null = it could, or was not asked for.</summary>
    public EQueueException? LastRefusal { get; set; }

    /// <inheritdoc/>
    public bool IsResolved => Volatile.Read(ref _routes) is not null;

    /// <inheritdoc/>
    public bool IsWhole => Volatile.Read(ref _routes) is { IsWhole: true };

    /// <summary>Whether a call can do without waiting so far: the route is known and no send waits.</summary>
    public bool IsAtRest => !Lines.IsWaitedFor && IsResolved;

    /// <summary>Where messages without a key go now.</summary>
    public QueueLane? Sticky
    {
        get
        {
            QueueLane[]? queues = Volatile.Read(ref _routes)?.Queues;
            return queues is null ? null : QueueSelector.At(queues, Volatile.Read(ref _stickyIndex));
        }
    }

    /// <summary>Puts a message into a batch if that needs no waiting.</summary>
    /// <exception cref="EQueueException">MessageTooLarge.</exception>
    public bool TryAppend(in RecordContent content, SendCallback? callback, object? state, out Awaitable awaitable)
    {
        awaitable = default;
        return Lines.IsFree(content.Key.HasValue) && TryAppendNow(content, callback, state, out awaitable);
    }

    /// <inheritdoc/>
    public bool TryAppendNow(in RecordContent content, SendCallback callback, object? state) =>
        TryAppendNow(content, callback, state, out _);

    /// <summary>As <see cref="TryAppend"/>, for a message that is not acknowledged.</summary>
    public bool TryAppendOneway(in RecordContent content)
    {
        while (Volatile.Read(ref _routes) is { } routes)
        {
            Check(content.Body.Value.Length, routes);
            if (!routes.Serves(content.Key.HasValue))
                return false;
            QueueLane queue = Select(routes.Queues, content);
            AppendStatus status = queue.Broker.Oneway.TryAppend(queue, content);
            if (IsOver(status, queue))
                return status == AppendStatus.Appended;
        }

        return false;
    }

    /// <summary>As <see cref="TryAppendOneway"/>, when there is room; not in the line.</summary>
    public async ValueTask AppendOnewayWhenPossibleAsync(MessageCopy message, CancellationToken cancellationToken)
    {
        bool isKeyed = message.Content.Key.HasValue;
        while (true)
        {
            await ResolveAsync(isKeyed, cancellationToken).ConfigureAwait(false);
            Task released = _owner.Terms.Budget.WhenReleased();
            if (TryAppendOneway(message.Content))
                return;
            if (IsKnownFor(isKeyed))
                await released.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Puts the first messages of a call into one batch: all that go to one queue, unless they are more than
    /// a batch takes; 0 when that needs waiting.</summary>
    /// <param name="messages">One or more.</param>
    /// <param name="receipt">Of all of them, should they go to one batch; null when it is not wanted.</param>
    /// <param name="awaitable">Of those that were taken.</param>
    public int TryAppendRun(ReadOnlySpan<Message> messages, BatchReceipt? receipt, out Awaitable awaitable)
    {
        awaitable = default;
        // What no batch takes is not looked at: the rest of a long call would be, once for each batch.
        messages = messages[..Math.Min(messages.Length, SendBatch.MaxRecords)];
        string? key = messages[0].Key;
        while (Volatile.Read(ref _routes) is { } routes)
        {
            if (!routes.Serves(isKeyed: key is not null))
                return 0;
            QueueLane queue = key is null ? SelectSticky(routes.Queues) : QueueSelector.OfKey(routes.Queues, key);
            MessageRun run = new(messages[..QueueSelector.CountOfQueue(routes.Queues, queue, messages)]);
            AppendStatus status = queue.Broker.TryAppendRun(queue, run, receipt, out int taken, out awaitable);
            if (IsOver(status, queue))
                return taken;
        }

        return 0;
    }

    /// <summary>Checks every message of a call before the first is sent.</summary>
    /// <exception cref="EQueueException">MessageTooLarge.</exception>
    public void Check(ReadOnlySpan<Message> messages)
    {
        if (Volatile.Read(ref _routes) is not { } routes)
            return;
        foreach (ref readonly Message message in messages)
            Check(message.Body.GetValueOrDefault().Length, routes);
    }

    /// <inheritdoc/>
    public bool IsKnownFor(bool isKeyed) => Volatile.Read(ref _routes) is { } routes && routes.Serves(isKeyed);

    /// <inheritdoc/>
    public async ValueTask ResolveAsync(bool isKeyed, CancellationToken cancellationToken)
    {
        if (!IsKnownFor(isKeyed))
            Update(await _owner.ResolveAsync(this, isKeyed, cancellationToken).ConfigureAwait(false));
    }

    /// <inheritdoc/>
    public EQueueException ShortageFor(bool isKeyed) => SendFaults.Shortage(this, isKeyed, _owner);

    /// <summary>Whether a route leads over other lanes than the known one.</summary>
    public bool WouldMove(TopicRoutes routes) =>
        Volatile.Read(ref _routes) is { } known && !known.Queues.All(queue => routes.Queues.Contains(queue));

    /// <summary>Sends what is open in the queues and gathers what is not settled.</summary>
    public void GatherPending(List<Task> pending)
    {
        QueueLane[] queues = Volatile.Read(ref _routes)?.Queues ?? [];
        foreach (BrokerLane lane in queues.Select(static queue => queue.Broker).Distinct())
            lane.Flush(pending, this);
    }

    /// <summary>Has the route asked for anew, without waiting for the next interval.</summary>
    public void RefreshSoon() => _owner.RefreshSoon(this);

    /// <summary>False while one is under way.</summary>
    public bool TryBeginRefresh() => Interlocked.Exchange(ref _isRefreshing, 1) == 0;

    public void EndRefresh() => Volatile.Write(ref _isRefreshing, 0);

    /// <summary>Takes a route up.</summary>
    public void Update(TopicRoutes routes) => Volatile.Write(ref _routes, routes);

    /// <summary>The route is out of date: it is asked for anew by the next message.</summary>
    public void Forget(QueueLane queue)
    {
        if (Volatile.Read(ref _routes) is { } routes && routes.Queues.Contains(queue))
            Interlocked.CompareExchange(ref _routes, null, routes);
    }

    /// <summary>After a batch's worth of bytes, messages without a key go on with the next queue.</summary>
    public void OnBatchClosed(QueueLane queue, int size)
    {
        if (Volatile.Read(ref _routes)?.Queues is not { Length: > 1 } queues || Sticky != queue)
            return;
        _stickyBytes += size;
        if (_stickyBytes < _owner.Terms.Options.BatchBytes / 4 * 3)
            return;
        _stickyBytes = 0;
        Volatile.Write(ref _stickyIndex, QueueSelector.Next(queues, _stickyIndex));
    }

    /// <summary>A queue of a lane that takes messages, the present one of those without a key if it does; null = there
    /// is none.</summary>
    public QueueLane? FindWritable(BrokerLane broker)
    {
        foreach (QueueLane queue in InTurn())
        {
            if (queue.Broker == broker && queue.IsWritable)
                return queue;
        }

        return null;
    }

    /// <summary>A queue of another broker that is there and takes messages; null = there is none.</summary>
    public QueueLane? FindElsewhere(BrokerLane broker)
    {
        foreach (QueueLane queue in InTurn())
        {
            if (queue.Broker != broker && queue.TakesMessages)
                return queue;
        }

        return null;
    }

    /// <summary>The queues, the present one of messages without a key first.</summary>
    private QueueTurns InTurn() => new(Volatile.Read(ref _routes)?.Queues ?? [], Volatile.Read(ref _stickyIndex));

    private bool TryAppendNow(in RecordContent content, SendCallback? callback, object? state, out Awaitable awaitable)
    {
        awaitable = default;
        while (Volatile.Read(ref _routes) is { } routes)
        {
            Check(content.Body.Value.Length, routes);
            if (!routes.Serves(content.Key.HasValue))
                return false;
            QueueLane queue = Select(routes.Queues, content);
            AppendStatus status = queue.Broker.TryAppend(queue, content, callback, state, out awaitable);
            if (IsOver(status, queue))
                return status == AppendStatus.Appended;
        }

        return false;
    }

    /// <summary>The queue of a message. Without a key it leaves a queue that takes none, and a broker that is away, if
    /// there is another.</summary>
    private QueueLane Select(QueueLane[] queues, scoped in RecordContent content) => content.Key.HasValue
        ? QueueSelector.OfKey(queues, content.Key.Value) : SelectSticky(queues);

    private QueueLane SelectSticky(QueueLane[] queues)
    {
        QueueLane queue = QueueSelector.At(queues, Volatile.Read(ref _stickyIndex));
        return queue.TakesMessages ? queue : SelectNext(queues);
    }

    private QueueLane SelectNext(QueueLane[] queues)
    {
        int sticky = QueueSelector.Next(queues, Volatile.Read(ref _stickyIndex));
        Volatile.Write(ref _stickyIndex, sticky);
        return QueueSelector.At(queues, sticky);
    }

    /// <summary>Whether that was a lane's last word, and not one that calls for another queue or route.</summary>
    /// <exception cref="EQueueException">MessageTooLarge.</exception>
    private bool IsOver(AppendStatus status, QueueLane queue)
    {
        if (status == AppendStatus.TooLarge)
            throw SendFaults.TooLarge(Name);
        if (status == AppendStatus.Closed)
            Forget(queue);
        return status is AppendStatus.Appended or AppendStatus.NoRoom;
    }

    private void Check(int bodySize, TopicRoutes routes)
    {
        if (bodySize > routes.MaxMessageBytes)
            throw SendFaults.TooLarge(Name, bodySize, routes.MaxMessageBytes);
    }
}
