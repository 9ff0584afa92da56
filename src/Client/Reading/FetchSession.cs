using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>The long poll over all queues that a reader reads at one broker, over a connection of its own.</summary>
/// <remarks>
/// <para>One fetch is outstanding at a time. Its answers are taken apart on the receive loop, and behind the last the
/// next one leaves from there at once, before anything was processed, as long as little is fetched ahead.</para>
/// <para>After a lost connection a new session begins at the offsets up to which everything was received: no gap,
/// nothing twice.</para>
/// </remarks>
internal sealed partial class FetchSession : IAnswersSink, IAsyncDisposable
{
    /// <summary>
    /// No session ever gets so far: a request with such a sequence ends a parked one, so that a change is not kept
    /// waiting.
    /// </summary>
    private const uint NudgeDistance = 1u << 30;

    private const long NudgeToken = 0;

    /// <summary>How far a broker has passed over what is not wanted it tells at the end of the wait: who stops at the
    /// end learns there that nothing more comes.</summary>
    private static readonly TimeSpan MaxWaitForEnd = TimeSpan.FromMilliseconds(100);

    private readonly Lock _gate = new();
    private readonly MessageStream _stream;
    private readonly ReaderOptions _options;
    private readonly ClientOptions _client;
    private readonly ILogger _logger;
    private readonly Dictionary<QueueKey, QueueCursor> _queues = [];
    private readonly HashSet<QueueCursor> _changed = [];
    private readonly List<QueueKey> _removed = [];
    private readonly Stack<FetchedAnswer> _free = new();
    private readonly CancellationTokenSource _closing = new();
    private readonly QueueRevival _revival;
    private readonly TimeSpan _maxWait;
    private readonly TimeSpan _timeout;
    private Task _recovery = Task.CompletedTask;
    private long _token = NudgeToken;
    private uint _sessionId;
    private long _sentAt;
    private uint _sequence;
    private long _bufferedBytes;
    private bool _isOutstanding;
    private bool _isRecovering;
    private bool _hasFailed;
    private bool _isClosed;

    public FetchSession(MessageStream stream, BrokerLink link, ReaderOptions options, ClientOptions client)
    {
        _stream = stream;
        _options = options;
        _client = client;
        _maxWait = options.StopAtEnd && !stream.Filter.IsOpen && options.MaxFetchWait > MaxWaitForEnd
            ? MaxWaitForEnd
            : options.MaxFetchWait;
        _timeout = options.MaxFetchWait + client.RequestTimeout;
        _logger = client.LoggerFactory.CreateLogger("EQueue.Client.Consumer");
        Link = link;
        _revival = new QueueRevival(Revive, client, _closing.Token);
        Places = new PlaceSearch(link, client.RequestTimeout);
    }

    public BrokerLink Link { get; }

    /// <summary>Asks the broker for places.</summary>
    public PlaceSearch Places { get; }

    /// <summary>Bytes that were fetched and not read yet.</summary>
    public long BufferedBytes => Volatile.Read(ref _bufferedBytes);

    /// <summary>The membership whose queues are fetched; null for a reader of named queues.</summary>
    public IReadingMember? Member { get; set; }

    /// <summary>Whether nothing that was fetched here may be handed out now.</summary>
    public bool IsInDoubt => Member is { IsInDoubt: true };

    /// <summary>Reads queues from their cursors' places on.</summary>
    public void Add(params ReadOnlySpan<QueueCursor> cursors)
    {
        lock (_gate)
        {
            foreach (QueueCursor cursor in cursors)
            {
                if (cursor.IsRemoved)
                    continue;
                _queues[cursor.Key] = cursor;
                _removed.Remove(cursor.Key);
                _changed.Add(cursor);
            }
        }

        Nudge();
    }

    /// <summary>Reads a queue no longer.</summary>
    public void Remove(QueueCursor cursor)
    {
        cursor.IsRemoved = true;
        lock (_gate)
            Leave(cursor);
    }

    /// <summary>Seeks to another place of a queue; what was fetched of it before is dropped. To be followed by
    /// <see cref="Nudge"/>.</summary>
    /// <inheritdoc cref="MessageStream.Seek"/>
    public void Move(QueueCursor cursor, long offset, bool isFound, LogHistory? history)
    {
        lock (_gate)
        {
            cursor.Version++;
            cursor.FetchNext = new QueueOffset(offset);
            cursor.Fork = null;
            if (isFound)
                cursor.History = history;
            if (!cursor.IsRemoved)
                _changed.Add(cursor);
        }
    }

    /// <summary>Asks again, after a pause, for all queues that fell out of the session by an error.</summary>
    public void ReviveLater() => _revival.BeDue();

    /// <summary>Fetches a queue or not, without forgetting its place.</summary>
    public void SetPaused(QueueCursor cursor, bool isPaused)
    {
        lock (_gate)
        {
            if (cursor.IsPaused == isPaused || cursor.IsRemoved)
                return;
            cursor.IsPaused = isPaused;
            if (isPaused)
            {
                if (cursor.IsInSession)
                    _removed.Add(cursor.Key);
                cursor.IsInSession = false;
                return;
            }

            _removed.Remove(cursor.Key);
            _changed.Add(cursor);
        }

        Nudge();
    }

    /// <summary>Asks again for queues that fell out of the session by an error.</summary>
    public void Revive()
    {
        lock (_gate)
        {
            _hasFailed = false;
            foreach (QueueCursor cursor in _queues.Values)
            {
                if (!cursor.IsInSession)
                    _changed.Add(cursor);
            }
        }

        Pump();
    }

    /// <summary>The reader is through with an answer.</summary>
    public void Release(FetchedAnswer answer)
    {
        answer.Release();
        lock (_gate)
        {
            _bufferedBytes -= answer.Size;
            _free.Push(answer);
        }

        Pump();
    }

    /// <inheritdoc/>
    TimeSpan IAnswersSink.LongestPause => TakesSeveral ? _timeout : TimeSpan.Zero;

    /// <summary>A reader that fetches little ahead decides about each answer.</summary>
    private bool TakesSeveral => _options.PrefetchBytes >= _options.FetchBytes;

    /// <summary>Whether another answer to the same fetch is welcome: no broker makes the reader hold much more than it
    /// asked for.</summary>
    private bool TakesMore => TakesSeveral
        && _bufferedBytes <= _options.PrefetchBytes + (2L * _options.FetchBytes);

    /// <inheritdoc/>
    void IResponseSink.OnResponse(long token, ResponseFrame response)
    {
        FetchedAnswer? answer = null;
        EQueueException? failure = null;
        long sentAt;
        lock (_gate)
        {
            if (token != _token || token == NudgeToken || _isClosed)
            {
                response.Dispose();
                return;
            }

            sentAt = _sentAt;
            if (response.Header.Error != 0)
                failure = Link.FaultOf(response);
            else
                answer = TakeApart(response, ref failure);
            if (failure is null)
                _failures = 0;
            bool isFollowed = response.Header.Flags.HasFlag(FrameFlags.More);
            if (isFollowed && failure is null && TakesMore)
                _sentAt = ClientMeter.Begin(_client.TimeProvider);
            else
                EndCall(isFollowed);
        }

        ObserveAnswer(sentAt, failure);
        if (answer is not null)
            _stream.Post(answer);
        else
            response.Dispose();
        if (failure is null)
            Pump();
        else
            Recover(failure);
    }

    /// <inheritdoc/>
    void IResponseSink.OnFailure(long token, RemotingException exception)
    {
        long sentAt;
        lock (_gate)
        {
            if (token != _token || token == NudgeToken || _isClosed)
                return;
            EndCall(isFollowed: false);
            sentAt = _sentAt;
        }

        EQueueException failure = Link.FaultOf(exception);
        ObserveAnswer(sentAt, failure);
        Recover(failure);
    }

    public async ValueTask DisposeAsync()
    {
        Task recovery;
        lock (_gate)
        {
            _isClosed = true;
            recovery = _recovery;
        }

        await _closing.CancelAsync().ConfigureAwait(false);
        await recovery.ConfigureAwait(false);
        await _revival.Ended.ConfigureAwait(false);
        await Link.DisposeAsync().ConfigureAwait(false);
        _closing.Dispose();
    }

    /// <summary>Sends the next fetch if none is outstanding and there is room for its answer.</summary>
    public void Pump()
    {
        FetchRequest request;
        long token;
        lock (_gate)
        {
            if (_isClosed || _isOutstanding || _isRecovering || _hasFailed || _queues.Count == 0
                || (_bufferedBytes > 0 && _bufferedBytes >= _options.PrefetchBytes))
            {
                return;
            }

            if (MustCheck())
            {
                BeginCheck();
                return;
            }

            request = BuildRequest();
            _isOutstanding = true;
            _sentAt = ClientMeter.Begin(_client.TimeProvider);
            token = ++_token;
        }

        Send(request, token);
    }

    /// <summary>Has a change taken up: by the next fetch, or by ending the parked one.</summary>
    public void Nudge()
    {
        uint sessionId;
        uint sequence;
        lock (_gate)
        {
            if (_isClosed)
                return;
            sessionId = _isOutstanding ? _sessionId : 0;
            sequence = _sequence + NudgeDistance;
        }

        if (sessionId == 0 || !Link.Remoting.IsConnected)
        {
            Pump();
            return;
        }

        Send(new FetchRequest { SessionId = sessionId, Sequence = sequence }, NudgeToken);
    }

    /// <summary>What still comes of the fetch that was outstanding is dropped, and with it the session that gives it.
    /// Under the gate.</summary>
    private void EndCall(bool isFollowed)
    {
        _isOutstanding = false;
        _token++;
        if (isFollowed)
            _sessionId = 0;
    }

    /// <summary>One at a time, beside the beat of a group's member that the broker keeps waiting.</summary>
    private void Send(FetchRequest request, long token) => Link.Remoting.Invoke(
        BrokerLink.Encode(request, _opening),
        (byte)Opcode.Fetch,
        BrokerLink.VersionOf(_opening),
        _timeout,
        this,
        token,
        inlineAllowed: true);

    private void ObserveAnswer(long sentAt, EQueueException? failure) => ClientMeter.RecordDuration(
        _logger, _client.TimeProvider, sentAt, "fetch", topic: null, _stream.Group, Link.Address, failure);
}
