using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Reads queues that the application names, from where it says, as a member of no group.</summary>
/// <remarks>
/// Reading is for one loop at a time; everything else is thread-safe. Broker restarts are ridden out.
/// </remarks>
public sealed class QueueReader : IClosable, IDisposable
{
    private const int QueuesAtOnce = 5_000;

    private readonly BrokerDirectory _directory;
    private readonly ReaderOptions _options;
    private readonly MessageStream _stream;
    private readonly Action<QueueReader> _onDisposed;
    private readonly Lock _lock = new();
    private Task? _disposal;

    internal QueueReader(BrokerDirectory directory, ReaderOptions options, Action<QueueReader> onDisposed)
    {
        options.Validate();
        _directory = directory;
        _options = options;
        _onDisposed = onDisposed;
        _stream = new MessageStream(directory, options, group: null);
    }

    /// <summary>How far the reader has come in each of its queues.</summary>
    public IReadOnlyList<QueueProgress> GetProgress() =>
        [.. _stream.Cursors.Select(static cursor => cursor.ToProgress())];

    /// <summary>Reads a queue from a place on; a queue that is assigned already continues from there.</summary>
    /// <exception cref="EQueueException">UnknownTopic, UnknownQueue, Unreachable.</exception>
    public ValueTask AssignAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken = default) => CallAsync(
        () => NearNames.HelpAsync(
            _directory, topic, () => AssignOneAsync(topic, queue, position, cancellationToken)), cancellationToken);

    /// <summary>Reads a queue from a message on; a queue that is assigned already continues from there.</summary>
    /// <param name="place">The message that comes first.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="EQueueException">UnknownTopic, UnknownQueue, Unreachable.</exception>
    public ValueTask AssignAsync(QueuePlace place, CancellationToken cancellationToken = default) =>
        AssignAsync(place.Topic, place.Queue, StartPosition.AtOffset(place.Offset.Value), cancellationToken);

    private async ValueTask AssignOneAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken)
    {
        Route route = await _directory.RouteOfAsync(topic, cancellationToken).ConfigureAwait(false);
        QueueRoute found = route.FindQueue(topic, queue);
        await AssignAsync(topic, route, [found], position, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Reads all queues that a topic has now from a place on; when it fails, everything is as it
    /// was.</summary>
    /// <exception cref="EQueueException">UnknownTopic; Unreachable: a broker is away, and its queues are not
    /// known. Others that a broker tells.</exception>
    public ValueTask AssignAllAsync(
        string topic, StartPosition position, CancellationToken cancellationToken = default) => CallAsync(
        () => NearNames.HelpAsync(
            _directory, topic, () => AssignEachAsync(topic, position, cancellationToken)), cancellationToken);

    private async ValueTask AssignEachAsync(
        string topic, StartPosition position, CancellationToken cancellationToken)
    {
        Route route = await _directory.RouteOfAsync(topic, cancellationToken).ConfigureAwait(false);
        await AssignAsync(topic, route, route.QueuesOf(topic), position, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>Reads a queue no longer; nothing happens if it is not assigned.</summary>
    public void Unassign(string topic, int queue)
    {
        ThrowIfClosed();
        if (_stream.Find(topic, queue) is { } cursor)
            _stream.Remove(cursor);
    }

    /// <summary>Seeks to another place of an assigned queue.</summary>
    /// <exception cref="EQueueException">QueueNotOwned: it is not assigned. DamagedData, Unreachable.</exception>
    public ValueTask SeekAsync(
        string topic, int queue, StartPosition position, CancellationToken cancellationToken = default) => CallAsync(
        () => _stream.SeekAsync(FindAssigned(topic, queue), position, cancellationToken), cancellationToken);

    /// <summary>Seeks to a message of an assigned queue.</summary>
    /// <param name="place">The message that comes next.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <exception cref="EQueueException">QueueNotOwned: it is not assigned; DamagedData, Unreachable.</exception>
    public ValueTask SeekAsync(QueuePlace place, CancellationToken cancellationToken = default) =>
        SeekAsync(place.Topic, place.Queue, StartPosition.AtOffset(place.Offset.Value), cancellationToken);

    /// <summary>
    /// Fetches no more of a queue until <see cref="Resume(string, int)"/>; what is fetched already is still given.
    /// </summary>
    /// <exception cref="EQueueException">QueueNotOwned: it is not assigned.</exception>
    public void Pause(string topic, int queue) => SetPaused(topic, queue, isPaused: true);

    /// <inheritdoc cref="Pause(string, int)"/>
    /// <param name="place">Of the queue; its offset does not count.</param>
    public void Pause(QueuePlace place) => Pause(place.Topic, place.Queue);

    /// <summary>Fetches a paused queue again.</summary>
    /// <exception cref="EQueueException">QueueNotOwned: it is not assigned.</exception>
    public void Resume(string topic, int queue) => SetPaused(topic, queue, isPaused: false);

    /// <inheritdoc cref="Resume(string, int)"/>
    /// <param name="place">Of the queue; its offset does not count.</param>
    public void Resume(QueuePlace place) => Resume(place.Topic, place.Queue);

    /// <summary>
    /// Yields messages without end (see <see cref="ReaderOptions.StopAtEnd"/>), each valid until the next step.
    /// </summary>
    /// <exception cref="OperationCanceledException">The token ended the loop.</exception>
    /// <exception cref="EQueueException">What cannot be ridden out: UnknownQueue, DamagedData and others.</exception>
    /// <exception cref="ObjectDisposedException">The reader is closed.</exception>
    public IAsyncEnumerable<ReceivedMessage> ReadAllAsync(CancellationToken cancellationToken = default) =>
        new MessageEnumeration(
            _stream, typeof(QueueReader), inBatches: false, static _ => ValueTask.CompletedTask, cancellationToken);

    /// <summary>Yields stored batches without end, each valid until the next step. Nothing is copied.</summary>
    /// <inheritdoc cref="ReadAllAsync"/>
    public IAsyncEnumerable<ReceivedBatch> ReadBatchesAsync(CancellationToken cancellationToken = default) =>
        new MessageEnumeration(
            _stream, typeof(QueueReader), inBatches: true, static _ => ValueTask.CompletedTask, cancellationToken);

    /// <summary>
    /// Takes up to <paramref name="maxCount"/> messages, waiting up to <paramref name="maxWait"/> for the first.
    /// </summary>
    /// <returns>Copies of their own; empty when nothing came. They count as processed.</returns>
    /// <exception cref="OperationCanceledException">The token ended the wait; nothing was taken.</exception>
    /// <exception cref="EQueueException">As <see cref="ReadAllAsync"/>, when nothing was taken: messages are given
    /// first, and the next pull or loop throws.</exception>
    public async ValueTask<IReadOnlyList<DetachedMessage>> PullAsync(
        int maxCount, TimeSpan maxWait, CancellationToken cancellationToken = default)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(maxCount, 1);
        ThrowIfClosed();
        cancellationToken.ThrowIfCancellationRequested();
        using var patience = new CancellationTokenSource(maxWait, _directory.Options.TimeProvider);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(patience.Token, cancellationToken);
        try
        {
            return await new MessagePull(_stream).PullAsync(maxCount, either.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (!cancellationToken.IsCancellationRequested)
        {
            return []; // nothing came in time
        }
        catch (Exception exception)
            when (PublicCall.Translate(exception, typeof(QueueReader), cancellationToken) is { } told)
        {
            throw told;
        }
    }

    /// <summary>Commits what is processed, beyond what is committed, for a group that has no live member.</summary>
    /// <exception cref="EQueueException">GroupBusy, InvalidName, UnknownQueue, StorageFull, Unreachable.</exception>
    public ValueTask CommitAsync(string group, CancellationToken cancellationToken = default) =>
        CallAsync(() => CommitEachAsync(group, cancellationToken), cancellationToken);

    private async ValueTask CommitEachAsync(string group, CancellationToken cancellationToken)
    {
        foreach (IGrouping<FetchSession, QueueCursor> cursors
            in _stream.Cursors.GroupBy(static cursor => cursor.Session))
        {
            IReadOnlyList<(QueueCursor Cursor, ErrorCode Error)> refusals = await GroupCommit.SendAsync(
                cursors.Key.Link,
                group,
                Guid.Empty,
                [.. cursors],
                _directory.Options.RequestTimeout,
                cancellationToken).ConfigureAwait(false);
            if (refusals.Count > 0)
                throw GroupCommit.Refused(refusals[0].Error, group, refusals[0].Cursor);
        }
    }

    /// <summary>Disconnects. Progress is committed by <see cref="CommitAsync"/> alone.</summary>
    public ValueTask DisposeAsync() => CloseAsync(_directory.Options.CloseTimeout);

    /// <summary>Disconnects, and blocks until that is done.</summary>
    public void Dispose() => Blocking.Wait(DisposeAsync);

    /// <summary>Disconnects within a time.</summary>
    /// <param name="timeout">How long it may take at most; a reader has nothing to wait for.</param>
    /// <exception cref="ArgumentOutOfRangeException">The time is below zero or more than 20 days.</exception>
    public ValueTask CloseAsync(TimeSpan timeout)
    {
        Option.CheckCloseTimeout(timeout);
        lock (_lock)
            return new ValueTask(_disposal ??= DisposeOnceAsync());
    }

    private ValueTask CallAsync(Func<ValueTask> work, CancellationToken cancellationToken)
    {
        ThrowIfClosed();
        return PublicCall.RunAsync(typeof(QueueReader), work, cancellationToken);
    }

    private void ThrowIfClosed() => ObjectDisposedException.ThrowIf(_disposal is { IsCompleted: true }, this);

    private async Task DisposeOnceAsync()
    {
        await _stream.DisposeAsync().ConfigureAwait(false);
        _onDisposed(this);
    }

    private async ValueTask AssignAsync(
        string topic,
        Route route,
        IReadOnlyList<QueueRoute> queues,
        StartPosition position,
        CancellationToken cancellationToken)
    {
        List<(FetchSession Session, QueueCursor[] Cursors)> shares = [];
        foreach (IGrouping<ServerAddress, QueueRoute> share in queues.GroupBy(route.AddressOf))
        {
            FetchSession session = _stream.GetSession(share.Key);
            foreach (QueueRoute[] some in share.Chunk(QueuesAtOnce))
            {
                shares.Add((session, await StartAsync(topic, session, some, position, cancellationToken)
                    .ConfigureAwait(false)));
            }
        }

        // Only now that every broker has told its places: all of the queues are assigned, or none.
        var numbers = queues.Select(static queue => queue.Number).ToHashSet();
        foreach (QueueCursor? known in _stream.Cursors
            .Where(cursor => cursor.Topic == topic && !cursor.IsRemoved && numbers.Contains(cursor.Number)))
        {
            _stream.Remove(known);
        }

        foreach ((FetchSession session, QueueCursor[] cursors) in shares)
            _stream.Add(session, cursors);
    }

    /// <summary>Cursors at their places; one request asks for the places of all.</summary>
    private async ValueTask<QueueCursor[]> StartAsync(
        string topic,
        FetchSession session,
        QueueRoute[] queues,
        StartPosition position,
        CancellationToken cancellationToken)
    {
        List<OffsetQuestion> questions = [];
        foreach (QueueRoute queue in queues)
        {
            var key = new QueueKey(queue.Log, queue.Id);
            if (position.KnownOffset is null)
                questions.Add(position.ToQuestion(key));
            if (_options.StopAtEnd)
                questions.Add(new OffsetQuestion(key, OffsetQuestion.End));
        }

        (QueueOffset[] answers, LogHistory? history) = questions.Count == 0
            ? ([], null) : await session.Places.FindOffsetsAsync(questions, cancellationToken).ConfigureAwait(false);
        int next = 0;
        var cursors = new QueueCursor[queues.Length];
        for (int i = 0; i < cursors.Length; i++)
        {
            QueueOffset offset = position.KnownOffset ?? answers[next++];
            var key = new QueueKey(queues[i].Log, queues[i].Id);
            cursors[i] = new QueueCursor(topic, queues[i].Number, key, offset) { History = history };
            if (_options.StopAtEnd)
            {
                cursors[i].StopAt = answers[next++].Value;
                cursors[i].VisibleEnd = cursors[i].StopAt;
            }
        }

        return cursors;
    }

    private void SetPaused(string topic, int queue, bool isPaused)
    {
        ThrowIfClosed();
        QueueCursor cursor = FindAssigned(topic, queue);
        cursor.Session.SetPaused(cursor, isPaused);
    }

    private QueueCursor FindAssigned(string topic, int queue) => _stream.Find(topic, queue)
        ?? throw new EQueueException(ErrorCode.QueueNotOwned, $"{topic}/{queue} is not assigned to this reader.");
}
