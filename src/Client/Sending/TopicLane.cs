using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A topic as a producer sees it: its queues, and whose turn it is.</summary>
/// <remarks>
/// The usual message finds the route known and memory free and goes straight into a batch. One that must wait, for the
/// route or for memory, stands in line; while anybody waits, whoever comes later waits behind, so that the order of the
/// calls is kept. While a broker's share of the route is not known, those with keys wait for it in a line of their own,
/// so that the others can go on.
/// </remarks>
internal sealed class TopicLane
{
    private readonly Producer _producer;
    private readonly SendLine _line;
    private readonly SendLine _keyedLine;
    private TopicRoutes? _routes;
    private int _stickyIndex;
    private long _stickyBytes;
    private int _isRefreshing;
    private readonly Lock _waitGate = new();
    private CancellationTokenSource? _noneWaits;
    private int _sendsThatWait;

    public TopicLane(Producer producer, string name)
    {
        _producer = producer;
        _keyedLine = new SendLine(producer, this, aside: null);
        _line = new SendLine(producer, this, _keyedLine);
        Name = name;
    }

    public string Name { get; }

    /// <summary>Why the route could not be learned the last time; null = it could, or was not asked for.</summary>
    public EQueueException? LastRefusal { get; set; }

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
        return IsFree(content.Key.HasValue) && TryAppendNow(content, callback, state, out awaitable);
    }

    /// <summary>As <see cref="TryAppend"/>, for a message that nobody acknowledges.</summary>
    public bool TryAppendOneway(in RecordContent content)
    {
        while (Volatile.Read(ref _routes) is { } routes)
        {
            Check(content, routes);
            if (!routes.Serves(content.Key.HasValue))
                return false;
            QueueLane queue = Select(routes.Queues, content);
            AppendStatus status = queue.Broker.TryAppendOneway(queue, content, mayMove: !content.Key.HasValue);
            if (IsOver(status, queue))
                return status == AppendStatus.Appended;
        }

        return false;
    }

    /// <summary>Has a message wait for its turn, the route and memory.</summary>
    public WaitingSend AppendWhenPossible(
        in RecordContent content, SendCallback? callback, object? state, CancellationToken cancellationToken)
    {
        var send = new WaitingSend(_producer, this, new MessageCopy(content), callback, state, cancellationToken);
        (send.IsKeyed && _line.IsEmpty && !_keyedLine.IsEmpty ? _keyedLine : _line).Add(send);
        return send;
    }

    /// <summary>As <see cref="AppendWhenPossible"/>, for a message that nobody acknowledges; not in the line.</summary>
    public async ValueTask AppendOnewayWhenPossibleAsync(MessageCopy message, CancellationToken cancellationToken)
    {
        bool isKeyed = message.Content.Key.HasValue;
        while (true)
        {
            await ResolveAsync(isKeyed, cancellationToken).ConfigureAwait(false);
            Task released = _producer.Budget.WhenReleased();
            if (TryAppendOneway(message.Content))
                return;
            if (IsKnownFor(isKeyed))
                await released.WaitAsync(cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Waits for everybody who waits already; nobody goes on before the turn is disposed.</summary>
    /// <param name="keysAsWell">False when those that wait for the whole route are not to be waited for.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public async ValueTask<IDisposable> TakeTurnAsync(bool keysAsWell, CancellationToken cancellationToken)
    {
        var turn = new LineTurn();
        var keyedTurn = new LineTurn();
        var turns = new BothTurns(turn, keyedTurn);
        _line.Add(turn);
        try
        {
            await turn.Granted.WaitAsync(cancellationToken).ConfigureAwait(false);

            // From here on nobody steps aside.
            if (keysAsWell && !_keyedLine.IsEmpty)
            {
                _keyedLine.Add(keyedTurn);
                await keyedTurn.Granted.WaitAsync(cancellationToken).ConfigureAwait(false);
            }
        }
        catch
        {
            turns.Dispose();
            throw;
        }

        return turns;
    }

    /// <summary>Waits for everybody who waits already; those without keys go on meanwhile.</summary>
    public async ValueTask PassAsync(CancellationToken cancellationToken)
    {
        using (await TakeTurnAsync(keysAsWell: false, cancellationToken).ConfigureAwait(false))
        {
            // Whoever stood before it with a key stands in the other line now.
        }

        using var turn = new LineTurn();
        _keyedLine.Add(turn);
        await turn.Granted.WaitAsync(cancellationToken).ConfigureAwait(false);
    }

    /// <inheritdoc cref="SendLine.WhenEmpty"/>
    public async Task WhenNobodyWaits()
    {
        await _line.WhenEmpty().ConfigureAwait(false);
        await _keyedLine.WhenEmpty().ConfigureAwait(false);
    }

    /// <summary>Puts neighbours of one call into a batch: as many as fit, 0 when that needs waiting.</summary>
    public int TryAppendRun(MessageEncoder messages, int from, out Awaitable awaitable)
    {
        awaitable = default;
        bool isKeyed = messages.HasKey(from);
        int to = from + 1;
        while (!isKeyed && to < messages.Count && to - from < SendBatch.MaxRecords && !messages.HasKey(to))
            to++;
        while (Volatile.Read(ref _routes) is { } routes)
        {
            if (!routes.Serves(isKeyed))
                return 0;
            QueueLane queue = Select(routes.Queues, messages.Encode(from));
            int taken =
                queue.Broker.TryAppendRun(queue, messages, from, to, !isKeyed, out AppendStatus status, out awaitable);
            if (IsOver(status, queue))
                return taken;
        }

        return 0;
    }

    /// <summary>Checks every message of a call before the first is sent.</summary>
    /// <exception cref="EQueueException">MessageTooLarge.</exception>
    public void Check(MessageEncoder messages)
    {
        if (Volatile.Read(ref _routes) is not { } routes)
            return;
        for (int i = 0; i < messages.Count; i++)
            Check(messages.Encode(i), routes);
    }

    /// <summary>A send begins to wait for the route or for memory.</summary>
    public void BeginWait()
    {
        lock (_waitGate)
            _sendsThatWait++;
    }

    /// <summary>It was admitted or gave up.</summary>
    public void EndWait()
    {
        CancellationTokenSource? ended = null;
        lock (_waitGate)
        {
            if (--_sendsThatWait == 0)
                (ended, _noneWaits) = (_noneWaits, null);
        }

        ended?.Cancel();
    }

    /// <summary>Ends when no send waits any more: what is waited for on their behalf is of no use then.</summary>
    public CancellationToken WhileAnyWaits()
    {
        lock (_waitGate)
        {
            return _sendsThatWait == 0
                ? new CancellationToken(canceled: true) : (_noneWaits ??= new CancellationTokenSource()).Token;
        }
    }

    /// <summary>Whether sends wait for the route or for memory.</summary>
    public bool IsWaitedFor => !_line.IsEmpty || !_keyedLine.IsEmpty;

    /// <summary>Sends that wait for the route or for memory.</summary>
    public int WaitingCount => _line.Count + _keyedLine.Count;

    /// <summary>Whether the route is known.</summary>
    public bool IsResolved => Volatile.Read(ref _routes) is not null;

    /// <summary>Whether every broker has told its share.</summary>
    public bool IsWhole => Volatile.Read(ref _routes) is { IsWhole: true };

    /// <summary>Whether the route is known as far as a message needs it: with a key, the whole of it.</summary>
    public bool IsKnownFor(bool isKeyed) => Volatile.Read(ref _routes) is { } routes && routes.Serves(isKeyed);

    /// <summary>Whether a call can do without waiting so far: the route is known and nobody waits.</summary>
    public bool IsAtRest => !IsWaitedFor && IsResolved;

    /// <summary>Learns where the queues are, unless that is known.</summary>
    public async ValueTask ResolveAsync(bool isKeyed, CancellationToken cancellationToken)
    {
        if (!IsKnownFor(isKeyed))
            Update(await _producer.ResolveAsync(this, isKeyed, cancellationToken).ConfigureAwait(false));
    }

    /// <summary>Whether a route leads over other lanes than the known one.</summary>
    public bool WouldMove(TopicRoutes routes) =>
        Volatile.Read(ref _routes) is { } known && !known.Queues.All(queue => routes.Queues.Contains(queue));

    /// <summary>Sends what is open in the queues and gathers what is not settled.</summary>
    public void GatherPending(List<Task> pending)
    {
        foreach (BrokerLane? lane
            in (Volatile.Read(ref _routes)?.Queues ?? []).Select(static queue => queue.Broker).Distinct())
        {
            lane.Flush(pending, this);
        }
    }

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
        if (_stickyBytes < _producer.Options.BatchBytes / 4 * 3)
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

    /// <summary>The queue of a message. Without a key it leaves a queue that takes none, and a broker that is away, if
    /// there is another.</summary>
    private QueueLane Select(QueueLane[] queues, scoped in RecordContent content)
    {
        if (content.Key.HasValue)
            return QueueSelector.OfKey(queues, content.Key.Value);
        QueueLane queue = QueueSelector.At(queues, Volatile.Read(ref _stickyIndex));
        return queue.TakesMessages ? queue : SelectNext(queues);
    }

    private QueueLane SelectNext(QueueLane[] queues)
    {
        int sticky = QueueSelector.Next(queues, Volatile.Read(ref _stickyIndex));
        Volatile.Write(ref _stickyIndex, sticky);
        return QueueSelector.At(queues, sticky);
    }

    /// <summary>As <see cref="TryAppend"/> with a callback, for the head of the line.</summary>
    public bool TryAppendNow(in RecordContent content, SendCallback callback, object? state) =>
        TryAppendNow(content, callback, state, out _);

    /// <summary>Whether nobody waits whom a message would overtake.</summary>
    private bool IsFree(bool isKeyed) => _line.IsEmpty && (!isKeyed || _keyedLine.IsEmpty);

    private bool TryAppendNow(in RecordContent content, SendCallback? callback, object? state, out Awaitable awaitable)
    {
        awaitable = default;
        while (Volatile.Read(ref _routes) is { } routes)
        {
            Check(content, routes);
            if (!routes.Serves(content.Key.HasValue))
                return false;
            QueueLane queue = Select(routes.Queues, content);
            AppendStatus status = queue.Broker.TryAppend(
                queue, content, !content.Key.HasValue, callback, state, out awaitable);
            if (IsOver(status, queue))
                return status == AppendStatus.Appended;
        }

        return false;
    }

    /// <summary>Whether that was a lane's last word, and not one that calls for another queue or route.</summary>
    /// <exception cref="EQueueException">MessageTooLarge.</exception>
    private bool IsOver(AppendStatus status, QueueLane queue)
    {
        if (status == AppendStatus.TooLarge)
            throw TooLarge();
        if (status == AppendStatus.Closed)
            Forget(queue);
        return status is AppendStatus.Appended or AppendStatus.NoRoom;
    }

    private void Check(scoped in RecordContent content, TopicRoutes routes)
    {
        if (content.Body.Value.Length > routes.MaxMessageBytes)
            throw TooLarge(content.Body.Value.Length, routes.MaxMessageBytes);
    }

    private EQueueException TooLarge(int size, uint most) =>
        new(ErrorCode.MessageTooLarge, $"The body has {size} bytes; {Name} takes {most}.");

    private EQueueException TooLarge() => new(
        ErrorCode.MessageTooLarge,
        $"Body, key and properties together make a batch larger than the broker of {Name} takes.");

    /// <summary>The turn in both lines.</summary>
    private sealed class BothTurns(LineTurn turn, LineTurn keyedTurn) : IDisposable
    {
        public void Dispose()
        {
            turn.Dispose();
            keyedTurn.Dispose();
        }
    }
}
