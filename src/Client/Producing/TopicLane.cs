using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A topic as a producer sees it: its queues, and whose turn it is.</summary>
/// <remarks>
/// The usual message finds the route known and memory free and goes straight into a batch. One that must wait, for the
/// route or for memory, stands in line; while anybody waits, whoever comes later waits behind, so that the order of the
/// calls is kept.
/// </remarks>
internal sealed class TopicLane
{
    private readonly Producer _producer;
    private readonly SendLine _line;
    private QueueLane[]? _queues;
    private uint _maxMessageBytes;
    private int _stickyIndex;
    private long _stickyBytes;
    private int _isRefreshing;

    public TopicLane(Producer producer, string name)
    {
        _producer = producer;
        _line = new SendLine(producer, this);
        Name = name;
    }

    public string Name { get; }

    /// <summary>Where messages without a key go now.</summary>
    public QueueLane? Sticky
    {
        get
        {
            var queues = Volatile.Read(ref _queues);
            return queues is null ? null : queues[QueueSelector.Wrap(Volatile.Read(ref _stickyIndex), queues.Length)];
        }
    }

    /// <summary>Puts a message into a batch if that needs no waiting.</summary>
    /// <exception cref="EQueueException">MessageTooLarge.</exception>
    public bool TryAppend(in RecordContent content, SendCallback? callback, object? state, out Awaitable awaitable)
    {
        awaitable = default;
        return _line.IsEmpty && TryAppendNow(content, callback, state, out awaitable);
    }

    /// <summary>As <see cref="TryAppend"/>, for a message that nobody acknowledges.</summary>
    public bool TryAppendOneway(in RecordContent content)
    {
        while (Volatile.Read(ref _queues) is { } queues)
        {
            Check(content);
            var queue = Select(queues, content.Key);
            switch (queue.Broker.TryAppendOneway(queue, content))
            {
                case AppendStatus.Appended:
                    return true;
                case AppendStatus.NoRoom:
                    return false;
                case AppendStatus.TooLarge:
                    throw TooLarge();
                default:
                    Forget(queue);
                    break;
            }
        }

        return false;
    }

    /// <summary>Has a message wait for its turn, the route and memory.</summary>
    public WaitingSend AppendWhenPossible(
        in RecordContent content, SendCallback? callback, object? state, CancellationToken cancellationToken)
    {
        var send = new WaitingSend(_producer, new MessageCopy(content), callback, state, cancellationToken);
        _line.Add(send);
        return send;
    }

    /// <summary>As <see cref="AppendWhenPossible"/>, for a message that nobody acknowledges; not in the line.</summary>
    public async ValueTask AppendOnewayWhenPossibleAsync(MessageCopy message, CancellationToken cancellationToken)
    {
        while (true)
        {
            await ResolveAsync(cancellationToken).ConfigureAwait(false);
            var released = _producer.Budget.WhenReleased();
            if (TryAppendOneway(message.Content))
                return;
            if (Volatile.Read(ref _queues) is not null)
                await released.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Waits for everybody who waits already; nobody goes on before the turn is disposed.</summary>
    public async ValueTask<IDisposable> TakeTurnAsync(CancellationToken cancellationToken)
    {
        var turn = new LineTurn();
        _line.Add(turn);
        try
        {
            await turn.Granted.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
        catch
        {
            turn.Dispose();
            throw;
        }

        return turn;
    }

    /// <inheritdoc cref="SendLine.WhenEmpty"/>
    public Task WhenNobodyWaits() => _line.WhenEmpty();

    /// <summary>Puts neighbours of one call into a batch: as many as fit, 0 when that needs waiting.</summary>
    public int TryAppendRun(MessageEncoder messages, int from, out Awaitable awaitable)
    {
        awaitable = default;
        var isKeyed = messages.HasKey(from);
        var to = from + 1;
        while (!isKeyed && to < messages.Count && to - from < SendBatch.MaxRecords && !messages.HasKey(to))
            to++;
        while (Volatile.Read(ref _queues) is { } queues)
        {
            var queue = Select(queues, messages.Encode(from).Key);
            var taken = queue.Broker.TryAppendRun(queue, messages, from, to, !isKeyed, out var status, out awaitable);
            switch (status)
            {
                case AppendStatus.Appended:
                    return taken;
                case AppendStatus.NoRoom:
                    return 0;
                case AppendStatus.TooLarge:
                    throw TooLarge();
                case AppendStatus.Closed:
                    Forget(queue);
                    break;
            }
        }

        return 0;
    }

    /// <summary>Checks every message of a call before the first is sent.</summary>
    /// <exception cref="EQueueException">MessageTooLarge.</exception>
    public void Check(MessageEncoder messages)
    {
        for (var i = 0; i < messages.Count; i++)
            Check(messages.Encode(i));
    }

    /// <summary>Whether sends wait for the route or for memory.</summary>
    public bool IsWaitedFor => !_line.IsEmpty;

    /// <summary>Sends that wait for the route or for memory.</summary>
    public int WaitingCount => _line.Count;

    /// <summary>Whether the route is known.</summary>
    public bool IsResolved => Volatile.Read(ref _queues) is not null;

    /// <summary>Whether a call can do without waiting so far: the route is known and nobody waits.</summary>
    public bool IsAtRest => _line.IsEmpty && Volatile.Read(ref _queues) is not null;

    /// <summary>Learns where the queues are, unless that is known.</summary>
    public async ValueTask ResolveAsync(CancellationToken cancellationToken)
    {
        if (Volatile.Read(ref _queues) is not null)
            return;
        var (queues, maxMessageBytes) = await _producer.ResolveAsync(this, cancellationToken).ConfigureAwait(false);
        Update(queues, maxMessageBytes);
    }

    /// <summary>Whether a route leads over other lanes than the known one.</summary>
    public bool WouldMove(QueueLane[] queues) =>
        Volatile.Read(ref _queues) is { } known && !known.All(queue => queues.Contains(queue));

    /// <summary>Sends what is open in the queues and gathers what is not settled.</summary>
    public void GatherPending(List<Task> pending)
    {
        foreach (var lane in (Volatile.Read(ref _queues) ?? []).Select(static queue => queue.Broker).Distinct())
            lane.Flush(pending, this);
    }

    /// <summary>False while one is under way.</summary>
    public bool TryBeginRefresh() => Interlocked.Exchange(ref _isRefreshing, 1) == 0;

    public void EndRefresh() => Volatile.Write(ref _isRefreshing, 0);

    /// <summary>Takes a route up.</summary>
    public void Update(QueueLane[] queues, uint maxMessageBytes)
    {
        Volatile.Write(ref _maxMessageBytes, maxMessageBytes);
        if (Volatile.Read(ref _queues) is not { } known || !known.SequenceEqual(queues))
            Volatile.Write(ref _queues, queues);
    }

    /// <summary>The route is out of date: it is asked for anew by the next message.</summary>
    public void Forget(QueueLane queue)
    {
        if (Volatile.Read(ref _queues) is { } queues && queues.Contains(queue))
            Interlocked.CompareExchange(ref _queues, null, queues);
    }

    /// <summary>After a batch's worth of bytes, messages without a key go on with the next queue.</summary>
    public void OnBatchClosed(QueueLane queue, int size)
    {
        if (Volatile.Read(ref _queues) is not { } queues || queues.Length == 1 || Sticky != queue)
            return;
        _stickyBytes += size;
        if (_stickyBytes < _producer.Options.BatchBytes / 4 * 3)
            return;
        _stickyBytes = 0;
        Volatile.Write(ref _stickyIndex, QueueSelector.Next(queues, _stickyIndex));
    }

    /// <summary>A queue of a lane that takes messages, the present one of those without a key if it does; null = there
    /// is none.</summary>
    public QueueLane? FindWritable(BrokerLane broker)
    {
        var queues = Volatile.Read(ref _queues) ?? [];
        var first = Volatile.Read(ref _stickyIndex);
        for (var step = 0; step < queues.Length; step++)
        {
            var queue = queues[QueueSelector.Wrap(first + step, queues.Length)];
            if (queue.Broker == broker && queue.IsWritable)
                return queue;
        }

        return null;
    }

    /// <summary>The queue of a message. Without a key it leaves a queue that takes none, if there is another.</summary>
    private QueueLane Select(QueueLane[] queues, scoped OptionalBytes key)
    {
        var sticky = Volatile.Read(ref _stickyIndex);
        var queue = QueueSelector.Select(queues, key, sticky);
        if (queue.IsWritable || key.HasValue)
            return queue;
        sticky = QueueSelector.Next(queues, sticky);
        Volatile.Write(ref _stickyIndex, sticky);
        return QueueSelector.Select(queues, key, sticky);
    }

    /// <summary>As <see cref="TryAppend"/> with a callback, for the head of the line.</summary>
    public bool TryAppendNow(in RecordContent content, SendCallback callback, object? state) =>
        TryAppendNow(content, callback, state, out _);

    private bool TryAppendNow(in RecordContent content, SendCallback? callback, object? state, out Awaitable awaitable)
    {
        awaitable = default;
        while (Volatile.Read(ref _queues) is { } queues)
        {
            Check(content);
            var queue = Select(queues, content.Key);
            switch (queue.Broker.TryAppend(queue, content, !content.Key.HasValue, callback, state, out awaitable))
            {
                case AppendStatus.Appended:
                    return true;
                case AppendStatus.NoRoom:
                    return false;
                case AppendStatus.TooLarge:
                    throw TooLarge();
                case AppendStatus.Closed:
                    Forget(queue);
                    break;
            }
        }

        return false;
    }

    private void Check(scoped in RecordContent content)
    {
        if (content.Body.Value.Length > _maxMessageBytes)
        {
            throw new EQueueException(
                ErrorCode.MessageTooLarge,
                $"The body has {content.Body.Value.Length} bytes; {Name} takes {_maxMessageBytes}.");
        }
    }

    private EQueueException TooLarge() => new(
        ErrorCode.MessageTooLarge,
        $"Body, key and properties together make a batch larger than the broker of {Name} takes.");
}
