using System.Threading.Tasks.Sources;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>The queues that are read, the sessions that fetch them, and the answers that wait for the reader.</summary>
/// <remarks>Owns the sessions and the answers. Receive loops post answers; <see cref="Reader"/>, one loop at a time,
/// takes them; the application and a group's member add and take away queues, on any thread.</remarks>
internal sealed class MessageStream : IValueTaskSource<bool>, IThreadPoolWorkItem, IReadLevels, IAsyncDisposable
{
    private readonly Lock _gate = new();
    private readonly Queue<FetchedAnswer> _answers = new();
    private readonly Dictionary<ServerAddress, FetchSession> _sessions = [];
    private readonly List<FetchSession> _left = [];
    private readonly Endings _endings = new();
    private readonly ReaderOptions _options;
    private readonly BrokerDirectory _directory;
    private readonly ILogger _logger;
    private List<QueueCursor> _cursors = [];
    private ManualResetValueTaskSourceCore<bool> _wait;
    private CancellationTokenRegistration _cancellation;
    private readonly Queue<(QueueCursor Cursor, long Offset)> _seeks = new();
    private EQueueException? _fault;
    private volatile bool _isInterrupted;
    private bool _isWaiting;
    private bool _isWakeDue;
    private bool _isClosed;

    /// <param name="directory">Makes the connections.</param>
    /// <param name="options">How it is read.</param>
    /// <param name="group">Whose member reads; null for a reader of named queues.</param>
    public MessageStream(BrokerDirectory directory, ReaderOptions options, string? group)
    {
        Group = group;
        _directory = directory;
        _options = options;
        _logger = directory.Options.LoggerFactory.CreateLogger("EQueue.Client.Consumer");
        Filter = new TagFilter(options.Tags);
        Reader = new MessageReader(this, options, directory.Options.MaxFrameBytes, _logger);
        ClientGauges.Add(this);
    }

    public TagFilter Filter { get; }

    /// <summary>Whose member reads; null for a reader of named queues.</summary>
    public string? Group { get; }

    /// <summary>The group's member, which sets it once; null for a reader of named queues.</summary>
    public IStreamOwner? Owner { get; set; }

    /// <summary>The one loop at a time.</summary>
    public MessageReader Reader { get; }

    /// <summary>A queue was sought in or taken away: the reader looks before its next step.</summary>
    public bool IsInterrupted
    {
        get => _isInterrupted;
        set => _isInterrupted = value;
    }

    /// <summary>What ends reading, when everything that was fetched before is read; null = nothing does.</summary>
    public EQueueException? Fault
    {
        get
        {
            lock (_gate)
                return _answers.Count == 0 ? _fault : null;
        }
    }

    /// <summary>The queues being read; a new list at each change.</summary>
    public IReadOnlyList<QueueCursor> Cursors => Volatile.Read(ref _cursors);

    /// <summary>The session at a broker, made at first need.</summary>
    public FetchSession GetSession(ServerAddress address)
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_isClosed, typeof(Consumer));
            if (!_sessions.TryGetValue(address, out FetchSession? session) || session.Link.IsStale)
            {
                if (session is not null)
                    _left.Add(session);
                session = new FetchSession(
                    this, _directory.Open(address, readsHistory: true), _options, _directory.Options);
                _sessions[address] = session;
                EndLeft();
            }

            return session;
        }
    }

    /// <summary>Reads at a broker no longer: its session ends with the last of its queues.</summary>
    public void Leave(ServerAddress address)
    {
        lock (_gate)
        {
            if (_isClosed || !_sessions.Remove(address, out FetchSession? session))
                return;
            _left.Add(session);
            EndLeft();
        }
    }

    /// <summary>The number that a queue has for the application: unique over all brokers.</summary>
    public int NumberOf(FetchSession session, int number) => _directory.NumberOf(session.Link.Address, number);

    /// <summary>Reads queues of one broker.</summary>
    public void Add(FetchSession session, params ReadOnlySpan<QueueCursor> cursors)
    {
        Announce(session, cursors);
        session.Add(cursors);
    }

    /// <summary>Takes queues into the list; they are fetched when their session is told.</summary>
    public void Announce(FetchSession session, params ReadOnlySpan<QueueCursor> cursors)
    {
        lock (_gate)
        {
            foreach (QueueCursor cursor in cursors)
                cursor.Session = session;
            _cursors = [.. _cursors, .. cursors];
        }
    }

    /// <summary>Hands out nothing more of a queue, which stays in the list until it is removed.</summary>
    public void Revoke(QueueCursor cursor)
    {
        if (!cursor.IsRemoved)
            cursor.Session.Remove(cursor);
        _isInterrupted = true;
        Wake();
    }

    /// <summary>Reads a queue no longer.</summary>
    public void Remove(QueueCursor cursor)
    {
        lock (_gate)
            _cursors = [.. _cursors.Where(other => other != cursor)];
        Revoke(cursor);
        lock (_gate)
            EndLeft();
    }

    /// <summary>The cursor of a queue, or null.</summary>
    public QueueCursor? Find(string topic, int queue) => Cursors.FirstOrDefault(
        cursor => cursor.Number == queue && cursor.Topic == topic && !cursor.IsRemoved);

    /// <summary>The cursor of a queue that can be committed, one that is asked back included; or null.</summary>
    public QueueCursor? FindHeld(string topic, int queue) => Cursors.LastOrDefault(
        cursor => cursor.Number == queue && cursor.Topic == topic && !cursor.IsGivenUp);

    /// <summary>Seeks to another place of a queue.</summary>
    /// <param name="cursor">The queue.</param>
    /// <param name="offset">Where.</param>
    /// <param name="isFound">Whether the place was found in the log as <paramref name="history"/> has it, or named by
    /// the application; else it is one of what was read before.</param>
    /// <param name="history">Null = not known: the place is taken as it is.</param>
    public void Seek(QueueCursor cursor, QueueOffset offset, bool isFound = false, LogHistory? history = null)
    {
        lock (_gate)
        {
            // Both at once: the reader must not meet the new place with the old version or the other way round.
            cursor.Session.Move(cursor, offset.Value, isFound, history);
            _seeks.Enqueue((cursor, offset.Value));
        }

        _isInterrupted = true;
        cursor.Session.Nudge();
        Wake();
    }

    /// <summary>Seeks to another place of a queue, at a place that the broker may have to find.</summary>
    public async ValueTask SeekAsync(QueueCursor cursor, StartPosition position, CancellationToken cancellationToken)
    {
        if (position.KnownOffset is { } named)
        {
            Seek(cursor, named, isFound: true);
            return;
        }

        (QueueOffset offset, LogHistory? history) = await cursor.Session.Places
            .FindOffsetAsync(position.ToQuestion(cursor.Key), cancellationToken).ConfigureAwait(false);
        Seek(cursor, offset, isFound: true, history);
    }

    /// <summary>An answer came. On a receive loop.</summary>
    public void Post(FetchedAnswer answer)
    {
        bool isTaken;
        lock (_gate)
        {
            isTaken = !_isClosed;
            if (isTaken)
                _answers.Enqueue(answer);
        }

        if (!isTaken)
            answer.Session.Release(answer);
        else if (MustWake())
            AfterReceive.Queue(this);
    }

    /// <summary>Reading ends with this, behind what was fetched before.</summary>
    public void Fail(EQueueException fault)
    {
        lock (_gate)
            _fault ??= fault;
        Wake();
    }

    /// <summary>Lets the waiting reader look again.</summary>
    public void Wake()
    {
        if (MustWake())
            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
    }

    private bool MustWake()
    {
        lock (_gate)
        {
            if (!_isWaiting)
                return false;
            _isWaiting = false;
            return _isWakeDue = true;
        }
    }

    /// <summary>Reading begins: what ended it is forgotten, and queues with errors are asked for again.</summary>
    public void Revive()
    {
        FetchSession[] sessions;
        lock (_gate)
        {
            _fault = null;
            sessions = [.. _sessions.Values];
        }

        foreach (FetchSession session in sessions)
            session.Revive();
    }

    /// <summary>Whether reading ended with this.</summary>
    public bool IsFault(Exception exception)
    {
        lock (_gate)
            return exception == _fault;
    }

    /// <summary>The oldest answer that was not read.</summary>
    public bool TryTakeAnswer(out FetchedAnswer? answer)
    {
        lock (_gate)
            return _answers.TryDequeue(out answer);
    }

    /// <summary>Moves the reader's places of queues that were sought in. On the reader's thread.</summary>
    public void ApplySeeks()
    {
        if (_seeks.Count == 0)
            return;
        lock (_gate)
        {
            while (_seeks.TryDequeue(out (QueueCursor Cursor, long Offset) seek))
            {
                seek.Cursor.Delivered = seek.Offset;
                seek.Cursor.Processed = seek.Offset;
            }
        }
    }

    /// <exception cref="ObjectDisposedException">The application's reader is closed.</exception>
    public void ThrowIfClosed() => ObjectDisposedException.ThrowIf(
        Volatile.Read(ref _isClosed), Group is null ? typeof(QueueReader) : typeof(Consumer));

    /// <summary>Waits until something may have changed.</summary>
    /// <exception cref="OperationCanceledException">The token ended the wait.</exception>
    public ValueTask<bool> WaitAsync(CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (_answers.Count > 0 || _fault is not null || _isClosed || _seeks.Count > 0 || Reader.Withheld.HasSure)
                return new ValueTask<bool>(true);
            _wait.Reset();
            _isWaiting = true;
        }

        _cancellation.Dispose();
        _cancellation = cancellationToken.UnsafeRegister(static stream => ((MessageStream)stream!).Wake(), this);
        return new ValueTask<bool>(this, _wait.Version);
    }

    /// <inheritdoc/>
    public IEnumerable<KeyValuePair<ServerAddress, long>> Prefetched()
    {
        FetchSession[] sessions;
        lock (_gate)
            sessions = [.. _sessions.Values, .. _left];
        return sessions.Select(
            static session => KeyValuePair.Create(session.Link.Address, session.BufferedBytes));
    }

    /// <inheritdoc/>
    public IEnumerable<KeyValuePair<(string Topic, string? Group), long>> Backlogs() => Cursors.Select(
        cursor => KeyValuePair.Create(
            (cursor.Topic, Group), Math.Max(0, cursor.VisibleEnd - cursor.Processed)));

    public async ValueTask DisposeAsync()
    {
        FetchSession[] sessions;
        lock (_gate)
        {
            if (_isClosed)
                return;
            _isClosed = true;
            ClientGauges.Remove(this);
            sessions = [.. _sessions.Values, .. _left];
        }

        Wake();
        foreach (FetchSession session in sessions)
            await session.DisposeAsync().ConfigureAwait(false);
        await _endings.WhenAllAsync().ConfigureAwait(false);

        lock (_gate)
        {
            while (_answers.TryDequeue(out FetchedAnswer? answer))
                answer.Release();
        }

        await _cancellation.DisposeAsync().ConfigureAwait(false);
    }

    /// <summary>Ends the sessions that were left and have no queue in the list any more. Under the gate.</summary>
    private void EndLeft()
    {
        for (int i = _left.Count - 1; i >= 0 && !_isClosed; i--)
        {
            FetchSession session = _left[i];
            if (_cursors.Exists(cursor => cursor.Session == session))
                continue;
            _left.RemoveAt(i);
            _endings.Begin(session);
        }
    }

    /// <summary>The waiting reader continues; once, also where one that was given up was to be woken before.</summary>
    void IThreadPoolWorkItem.Execute()
    {
        lock (_gate)
        {
            if (!_isWakeDue)
                return;
            _isWakeDue = false;
            _isWaiting = false;
        }

        _wait.SetResult(true);
    }

    bool IValueTaskSource<bool>.GetResult(short token) => _wait.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<bool>.GetStatus(short token) => _wait.GetStatus(token);

    void IValueTaskSource<bool>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _wait.OnCompleted(continuation, state, token, flags);
}
