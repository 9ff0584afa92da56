using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>The membership at one broker: joins, beats, takes and gives up queues, commits, leaves.</summary>
/// <remarks>
/// <para>Calls go over the connection of the fetch session, because the broker holds a member to be gone with its
/// connection. One loop beats (one call is parked at the broker, and given up when there is something to say), one
/// starts queues, one releases them; all end with the session. docs/consumer-groups.md, section 6.</para>
/// <para>Used once: after a failure, or when it was left, a new one joins.</para>
/// </remarks>
internal sealed partial class MemberSession : IAsyncDisposable
{
    private static readonly TimeSpan LongestWait = TimeSpan.FromSeconds(10);

    private static readonly TimeSpan LongestFarewell = TimeSpan.FromSeconds(2);

    private readonly Lock _gate = new();
    private readonly MemberTerms _terms;
    private readonly MessageStream _stream;
    private readonly FetchSession _fetch;
    private readonly MemberLease _lease;
    private readonly Punctuality _punctuality;
    private readonly CancellationTokenSource _closing = new();
    private readonly WakeSignal _news = new();
    private readonly WakeSignal _letGo = new();
    private readonly TaskCompletionSource _isStarted = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private Task _loops = Task.CompletedTask;
    private TaskCompletionSource? _urgent;
    private readonly List<QueueCursor> _lost = [];
    private GroupGeneration _seen = GroupGeneration.Join;
    private long _toldOn = -1;
    private int _listVersion;
    private int _toldVersion;
    private uint _pending;
    private volatile EQueueException? _failure;
    private volatile bool _isLeaving;
    private bool _isLeftBehind;

    public MemberSession(MemberTerms terms, MessageStream stream, FetchSession fetch)
    {
        _terms = terms;
        _stream = stream;
        _fetch = fetch;
        _lease = new MemberLease(terms.Client.TimeProvider);
        _punctuality = new Punctuality(terms, fetch.Link.Address);

        // Who reads everything by itself has nothing that could become another's.
        fetch.Lease = terms.Options.IsBroadcast ? null : _lease;
        fetch.ConnectionLost = OnConnectionLost;
    }

    /// <summary>Whether it is, or will be again by itself, a member.</summary>
    public bool IsAlive => _failure is null && !_isLeaving && !_fetch.Link.IsStale;

    /// <summary>Whether it has every queue that it shall have.</summary>
    public bool IsSettled
    {
        get
        {
            lock (_gate)
                return _seen != GroupGeneration.Join && _pending == 0 && !IsAnyStarting();
        }
    }

    private BrokerLink Link => _fetch.Link;

    /// <summary>Joins and begins to read the queues that the answer gives.</summary>
    /// <exception cref="EQueueException">Refused, or no connection within the request timeout.</exception>
    public async ValueTask JoinAsync(CancellationToken cancellationToken)
    {
        long begun = _terms.Client.TimeProvider.GetTimestamp();
        for (int attempt = 1; !await TryJoinAsync(begun, cancellationToken).ConfigureAwait(false); attempt++)
        {
            await Task.Delay(
                _terms.Client.ReconnectBackoffMin * Math.Min(attempt, 20),
                _terms.Client.TimeProvider,
                cancellationToken).ConfigureAwait(false);
        }

        lock (_gate)
            Log.Joined(_terms.Logger, _terms.Member, _terms.Group, Link.Address, _seen, _queues.Count);
        Start();
        await _isStarted.Task.WaitAsync(cancellationToken).ConfigureAwait(false);
        if (_failure is { } failure)
            throw failure;
    }

    /// <returns>False when a broker that is just restarting, or another passing trouble, may let the next attempt
    /// succeed.</returns>
    private async ValueTask<bool> TryJoinAsync(long begun, CancellationToken cancellationToken)
    {
        try
        {
            await Link.ConnectAsync(_terms.Client.RequestTimeout, cancellationToken).ConfigureAwait(false);
            await BeatAsync(Prepare(), cancellationToken).ConfigureAwait(false);
            return true;
        }
        catch (EQueueException exception) when (ErrorCodes.IsRetriable(exception.Code)
            && _terms.Client.TimeProvider.GetElapsedTime(begun) < _terms.Client.RequestTimeout)
        {
            return false;
        }
    }

    /// <summary>Goes on by itself: joins, if that is not done, as soon as the broker can be reached.</summary>
    public void Start() => _loops = Task.WhenAll(
        Task.Run(RunAsync, CancellationToken.None),
        Task.Run(RunStartsAsync, CancellationToken.None),
        Task.Run(RunReleasesAsync, CancellationToken.None));

    /// <summary>Hands out nothing more, commits (unless that is off) and leaves the group at this broker.</summary>
    /// <param name="stays">A static member will be back: its queues wait for it.</param>
    /// <param name="patience">Ends the wait for the broker.</param>
    public async ValueTask LeaveAsync(bool stays, CancellationToken patience)
    {
        if (_isLeaving)
            return;
        _isLeaving = true;
        IReadOnlyList<QueueCursor> cursors = Cursors();
        foreach (QueueCursor cursor in cursors)
            _stream.Revoke(cursor);
        bool isMember = _failure is null && _seen != GroupGeneration.Join;
        if (isMember && _terms.Options.AutoCommit && _terms.KeepsProgress)
            await CommitBeforeLeavingAsync(cursors, patience).ConfigureAwait(false);
        await DisposeAsync().ConfigureAwait(false);
        if (isMember && _seen != GroupGeneration.Join && Link.Remoting.IsConnected)
            await TryLeaveAsync(stays, patience).ConfigureAwait(false);
        DropAll();
    }

    /// <summary>Ends the loops.</summary>
    public async ValueTask DisposeAsync()
    {
        await _closing.CancelAsync().ConfigureAwait(false);
        await _loops.ConfigureAwait(false);
        _fetch.Lease = null;
        _fetch.ConnectionLost = null;
    }

    /// <summary>The reader has gone on from a queue that was taken away.</summary>
    public void OnLetGo()
    {
        _letGo.Set();
        _releases.Set();
    }

    private void OnConnectionLost()
    {
        _lease.OnConnectionLost();
        _news.Set();
    }

    private async Task RunAsync()
    {
        int failures = 0;
        while (_failure is null && !_closing.IsCancellationRequested)
        {
            Beat? beat = null;
            try
            {
                await WaitUntilLetGoAsync().ConfigureAwait(false);
                await Link.ConnectAsync(Timeout.InfiniteTimeSpan, _closing.Token).ConfigureAwait(false);
                beat = Prepare();
                _punctuality.Expect(beat.Request.MaxWait);
                TimeSpan pause = await BeatAsync(beat, _closing.Token).ConfigureAwait(false);
                _punctuality.Check();
                failures = 0;
                beat.Urgent?.TrySetResult();
                if (pause > TimeSpan.Zero)
                    await RestAsync(pause).ConfigureAwait(false);
            }
            catch (OperationCanceledException)
            {
                break;
            }
            catch (EQueueException exception)
            {
                if (!_closing.IsCancellationRequested)
                    await OnBeatFailedAsync(beat, exception, ++failures).ConfigureAwait(false);
            }
            finally
            {
                beat?.Urgent?.TrySetResult();
            }
        }

        _isStarted.TrySetResult();
        if (_isLeftBehind && Link.Remoting.IsConnected)
            await TryLeaveAsync(stays: false, CancellationToken.None).ConfigureAwait(false);
    }

    /// <summary>A lost member joins anew when the application stands at no message of its former queues.</summary>
    private async ValueTask WaitUntilLetGoAsync()
    {
        while (true)
        {
            _letGo.Reset();
            lock (_gate)
            {
                if (!_lost.Exists(_stream.IsInHand))
                {
                    _lost.Clear();
                    return;
                }
            }

            await _letGo.Told.WaitAsync(_closing.Token).ConfigureAwait(false);
        }
    }

    /// <summary>One call, held by the broker until there is news or its wait is over.</summary>
    /// <returns>How long to wait before the next one.</returns>
    private async ValueTask<TimeSpan> BeatAsync(Beat beat, CancellationToken cancellationToken)
    {
        GroupHeartbeatRequest request = beat.Request;
        long sentAt = _terms.Client.TimeProvider.GetTimestamp();
        using var patience = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        Task<GroupHeartbeatResponse> call =
            Link.InvokeAsync(request, request.MaxWait + _terms.Patience, patience.Token).AsTask();
        GroupHeartbeatResponse answer;
        try
        {
            // An answer that is given up is as good as a lost one: the next call names what was seen, and is told all.
            if (request.MaxWait > TimeSpan.Zero && await Task.WhenAny(call, _news.Told).ConfigureAwait(false) != call)
                await patience.CancelAsync().ConfigureAwait(false);
            answer = await call.ConfigureAwait(false);
        }
        catch (EQueueException exception)
            when (exception.Code == ErrorCode.Cancelled && !cancellationToken.IsCancellationRequested)
        {
            return TimeSpan.Zero;
        }

        _lease.Renew(sentAt, answer.SessionTimeout, answer.ReconnectGrace);
        Apply(beat, answer);
        _stream.Wake();

        // Asked not to wait, the broker names a pause; the next call is one that it may hold.
        return request.MaxWait > TimeSpan.Zero ? answer.NextHeartbeat : TimeSpan.Zero;
    }

    /// <summary>Until there is something to say.</summary>
    private async ValueTask RestAsync(TimeSpan pause)
    {
        _punctuality.Expect(pause);
        using var rest = CancellationTokenSource.CreateLinkedTokenSource(_closing.Token);
        await Task.WhenAny(_news.Told, Task.Delay(pause, _terms.Client.TimeProvider, rest.Token)).ConfigureAwait(false);
        await rest.CancelAsync().ConfigureAwait(false);
        _punctuality.Check();
    }

    /// <summary>What to say now.</summary>
    private Beat Prepare()
    {
        _news.Reset();
        lock (_gate)
        {
            long connection = Link.Remoting.ConnectionGeneration;
            bool isWhole = _seen == GroupGeneration.Join || connection != _toldOn;
            bool isListed = isWhole || _listVersion != _toldVersion;
            TaskCompletionSource? urgent = _urgent;
            _urgent = null;
            ConsumerOptions options = _terms.Options;
            var request = new GroupHeartbeatRequest
            {
                Group = _terms.Group,
                Member = _terms.Member,
                Sequence = _terms.NextSequence(),
                Generation = _seen,
                InstanceId = options.InstanceId,
                SessionTimeout = options.SessionTimeout,
                ReleaseTimeout = options.ReleaseTimeout,
                MaxWait = isWhole || urgent is not null || _lease.IsOver ? TimeSpan.Zero : MaxWait,
                IsBroadcast = options.IsBroadcast,
                Subscriptions = isWhole
                    ? [.. _terms.Topics.Select(topic => new TopicSubscription(topic, options.Tags))]
                    : null,
                Owned = isListed ? OwnedQueues() : null,
            };
            return new Beat(request, connection, isListed ? _listVersion : _toldVersion, ReleasedQueues(), urgent);
        }
    }

    private TimeSpan MaxWait
    {
        get
        {
            TimeSpan third = _terms.Options.SessionTimeout / 3;
            return third < LongestWait ? third : LongestWait;
        }
    }

    private async ValueTask OnBeatFailedAsync(Beat? beat, EQueueException exception, int failures)
    {
        bool wasWhole = beat?.Request.Subscriptions is not null;
        switch (exception.Code)
        {
            case ErrorCode.FencedGeneration when failures == 1:
                // A call that was sent later came first, over another connection: what it changed holds.
                return;
            case ErrorCode.UnknownMember or ErrorCode.InvalidArgument when !wasWhole:
                // A new connection that was not seen in time: the broker had nothing to know the member by.
                _toldOn = -1;
                return;
            case ErrorCode.UnknownMember:
                Log.JoinsAgain(_terms.Logger, _terms.Member, _terms.Group, exception.Code);
                DropAll();
                return;
            case ErrorCode.FencedGeneration or ErrorCode.InternalError:
            case var code when ErrorCodes.IsRetriable(code):
                break;
            default:
                Fail(exception);
                return;
        }

        if (exception.Code == ErrorCode.ConnectionLost)
            _lease.OnConnectionLost();
        if (failures == 1)
            Log.HeartbeatFailed(_terms.Logger, _terms.Group, Link.Address, exception.Message);
        _toldOn = -1;
        try
        {
            // At once after a cut: the grace runs.
            await Task.Delay(
                _terms.Client.ReconnectBackoffMin * Math.Min(failures - 1, 20),
                _terms.Client.TimeProvider,
                _closing.Token).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            // The loop ends at its head.
        }
    }

    /// <summary>Ends the session: its queues are dropped, and reading ends with the cause.</summary>
    private void Fail(EQueueException exception)
    {
        lock (_gate)
        {
            if (_failure is not null)
                return;
            _isLeftBehind = _seen != GroupGeneration.Join && exception.Code != ErrorCode.MemberReplaced;
            _failure = exception;
        }

        DropAll();
        _stream.Fail(exception);
        _news.Set();
    }

    /// <summary>Beats at once.</summary>
    /// <returns>Completes when that call is over, or at once where there is no member to ask about.</returns>
    private Task BeatNowAsync(CancellationToken cancellationToken)
    {
        lock (_gate)
        {
            if (_seen == GroupGeneration.Join || _failure is not null || _closing.IsCancellationRequested)
                return Task.CompletedTask;
            _urgent ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            _news.Set();
            return _urgent.Task.WaitAsync(_terms.Patience, _terms.Client.TimeProvider, cancellationToken);
        }
    }

    /// <summary>A courtesy: a broker that does not answer soon sees the connection end, which says the same.</summary>
    private async ValueTask TryLeaveAsync(bool stays, CancellationToken patience)
    {
        try
        {
            var request = new GroupLeaveRequest(_terms.Group, _terms.Member, stays);
            TimeSpan time = _terms.Patience < LongestFarewell ? _terms.Patience : LongestFarewell;
            await Link.InvokeAsync(request, time, patience).ConfigureAwait(false);
        }
        catch (EQueueException exception)
        {
            Log.LeaveFailed(_terms.Logger, _terms.Group, exception.Message);
        }
    }

    /// <summary>One call of the member and what it said.</summary>
    /// <param name="Request">The call.</param>
    /// <param name="Connection">The connection that it was made for.</param>
    /// <param name="ListVersion">The version of the list of queues that the broker knows with it.</param>
    /// <param name="Released">Queues that it gives up.</param>
    /// <param name="Urgent">Who waits for its end.</param>
    private sealed record Beat(
        GroupHeartbeatRequest Request,
        long Connection,
        int ListVersion,
        IReadOnlyList<MemberQueue> Released,
        TaskCompletionSource? Urgent);
}
