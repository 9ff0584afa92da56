using System.Threading.Tasks.Sources;
using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>Where fetched answers become messages: the reader's side of its fetch sessions.</summary>
/// <remarks>
/// <para>Answers are posted by receive loops; one enumeration at a time takes them, on whatever thread it runs. The
/// current message lives in <see cref="MessageCursor"/>, so that a step allocates nothing.</para>
/// <para>See the other parts: Steps for the way from an answer to a message, Pull for some messages at a time, Trouble
/// for queues that cannot be read as they are, Hand for what the reader holds when a queue or a membership ends,
/// Telemetry for what listeners are told.</para>
/// </remarks>
internal sealed partial class MessageStream : IValueTaskSource<bool>, IThreadPoolWorkItem, IReadLevels, IAsyncDisposable
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
    private EQueueException? _fault;
    private bool _isWaiting;
    private bool _isWakeDue;
    private bool _isClosed;
    private int _isRead;

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
        _cursor = new MessageCursor(Filter, OnBroken);
        ClientGauges.Add(this);
    }

    public TagFilter Filter { get; }

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

    /// <summary>Goes on elsewhere in a queue.</summary>
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

    /// <summary>Goes on elsewhere in a queue, at a place that the broker may have to find.</summary>
    public async ValueTask SeekAsync(QueueCursor cursor, StartPosition position, CancellationToken cancellationToken)
    {
        if (position.KnownOffset is { } named)
        {
            Seek(cursor, named, isFound: true);
            return;
        }

        (QueueOffset offset, LogHistory? history) = await cursor.Session
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

    /// <summary>Begins an enumeration; at most one at a time.</summary>
    /// <param name="inBatches">By batches rather than messages.</param>
    /// <exception cref="EQueueException">What ended the last pull, which had messages to give first.</exception>
    public void BeginReading(bool inBatches)
    {
        if (Interlocked.Exchange(ref _isRead, 1) != 0)
            throw new InvalidOperationException("The reader is being read already: one enumeration at a time.");
        if (_owed is { } owed)
        {
            _owed = null;
            Volatile.Write(ref _isRead, 0);
            throw owed;
        }

        if (_isInBatch && inBatches != _wasInBatches)
            Reopen();
        else if (_isInBatch && !TryTakeInHand(_cursor.Queue))
            DropBatch();
        _wasInBatches = inBatches;
        FetchSession[] sessions;
        lock (_gate)
        {
            _fault = null;
            sessions = [.. _sessions.Values];
        }

        foreach (FetchSession session in sessions)
            session.Revive();
        if (_isInBatch)
            BeginHanding();
    }

    /// <summary>Ends an enumeration: what it handed out is over.</summary>
    public void EndReading()
    {
        _cursor.Advance();
        if (_isInBatch)
            EndHanding();
        LetGo();
        Volatile.Write(ref _isRead, 0);
    }

    /// <summary>Waits until something may have changed.</summary>
    /// <exception cref="OperationCanceledException">The token ended the wait.</exception>
    public ValueTask<bool> WaitAsync(CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (_answers.Count > 0 || _fault is not null || _isClosed || _seeks.Count > 0 || IsLeaseBack())
                return new ValueTask<bool>(true);
            _wait.Reset();
            _isWaiting = true;
        }

        _cancellation.Dispose();
        _cancellation = cancellationToken.UnsafeRegister(static stream => ((MessageStream)stream!).Wake(), this);
        return new ValueTask<bool>(this, _wait.Version);
    }

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

    /// <summary>The waiting reader goes on; once, also where one that was given up was to be woken before.</summary>
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
