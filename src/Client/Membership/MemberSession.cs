using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>The membership at one broker: joins, beats, takes and gives up queues, commits, leaves.</summary>
/// <remarks>
/// <para>Calls go over the connection of the fetch session, because the broker holds a member to be gone with its
/// connection. Three loops end with the session: <see cref="Heartbeats"/>, <see cref="QueueStarts"/> and
/// <see cref="QueueReleases"/>, which share the list of queues, <see cref="MemberQueues"/>.
/// docs/consumer-groups.md, section 6.</para>
/// <para>Owns the loops and the failure that ends them. Used once: after a failure, or when it was left, a new one
/// joins.</para>
/// </remarks>
internal sealed class MemberSession : IReadingMember, IAsyncDisposable
{
    private static readonly TimeSpan LongestFarewell = TimeSpan.FromSeconds(2);

    private readonly MemberTerms _terms;
    private readonly MessageStream _stream;
    private readonly FetchSession _fetch;
    private readonly MemberQueues _queues;
    private readonly Heartbeats _beats;
    private readonly QueueStarts _starts;
    private readonly QueueReleases _releases;
    private readonly CancellationTokenSource _closing = new();
    private readonly Lock _failing = new();
    private Task _loops = Task.CompletedTask;
    private EQueueException? _failure;
    private volatile bool _isLeaving;
    private bool _isLeftBehind;

    public MemberSession(MemberTerms terms, MessageStream stream, FetchSession fetch)
    {
        _terms = terms;
        _stream = stream;
        _fetch = fetch;
        _queues = new MemberQueues(terms, stream, fetch);
        _beats = new Heartbeats(this, terms, stream, fetch.Link, _queues);
        _starts = new QueueStarts(this, terms, stream, fetch, _queues);
        _releases = new QueueReleases(this, terms, stream, fetch.Link, _queues, _beats);
        fetch.Member = this;
    }

    /// <summary>Whether it is, or will be again by itself, a member.</summary>
    public bool IsAlive => Failure is null && !_isLeaving && !Link.IsStale;

    /// <inheritdoc cref="MemberQueues.IsSettled"/>
    public bool IsSettled => _queues.IsSettled;

    /// <summary>Whether the loops end.</summary>
    public bool IsOver => Failure is not null || _closing.IsCancellationRequested;

    /// <summary>Ends what the loops wait for.</summary>
    public CancellationToken Closing => _closing.Token;

    /// <summary>A member that reads everything by itself has nothing that could become another's.</summary>
    bool IReadingMember.IsInDoubt => !_terms.Options.IsBroadcast && _beats.IsLeaseOver;

    private BrokerLink Link => _fetch.Link;

    private EQueueException? Failure => Volatile.Read(ref _failure);

    /// <summary>As people read them; the first of many.</summary>
    public static string NamesOf(IReadOnlyCollection<QueueCursor> cursors)
    {
        const int Most = 20;
        string names = string.Join(", ", cursors.Take(Most).Select(static cursor => $"{cursor.Topic}/{cursor.Number}"));
        return cursors.Count > Most ? names + ", ..." : names;
    }

    /// <summary>Joins and begins to read the queues that the answer gives.</summary>
    /// <exception cref="EQueueException">Refused, or no connection within the request timeout.</exception>
    public async ValueTask JoinAsync(CancellationToken cancellationToken)
    {
        long begun = _terms.Client.TimeProvider.GetTimestamp();
        for (int attempt = 1; !await TryJoinAsync(begun, cancellationToken).ConfigureAwait(false); attempt++)
            await _terms.Client.PauseAsync(attempt, cancellationToken).ConfigureAwait(false);
        (GroupGeneration seen, int count) = _queues.Standing;
        Log.Joined(_terms.Logger, _terms.Member, _terms.Group, Link.Address, seen, count);
        Start();
        await _starts.Started.WaitAsync(cancellationToken).ConfigureAwait(false);
        if (Failure is { } failure)
            throw failure;
    }

    /// <summary>Works by itself: joins, if that is not done, as soon as the broker can be reached.</summary>
    public void Start() => _loops = Task.WhenAll(
        Task.Run(RunBeatsAsync, CancellationToken.None),
        Task.Run(_starts.RunAsync, CancellationToken.None),
        Task.Run(_releases.RunAsync, CancellationToken.None));

    /// <summary>Hands out nothing more, commits (unless that is off) and leaves the group at this broker.</summary>
    /// <param name="stays">A static member will be back: its queues wait for it.</param>
    /// <param name="patience">Ends the wait for the broker.</param>
    public async ValueTask LeaveAsync(bool stays, CancellationToken patience)
    {
        if (_isLeaving)
            return;
        _isLeaving = true;
        IReadOnlyList<QueueCursor> cursors = _queues.Close();
        foreach (QueueCursor cursor in cursors)
            _stream.Revoke(cursor);
        bool isMember = Failure is null && _queues.IsMember;
        if (isMember && _terms.Options.AutoCommit && _terms.KeepsProgress)
            await _releases.CommitBeforeLeavingAsync(cursors, patience).ConfigureAwait(false);
        await DisposeAsync().ConfigureAwait(false);
        if (isMember && _queues.IsMember && Link.Remoting.IsConnected)
            await TryLeaveAsync(stays, patience).ConfigureAwait(false);
        DropAll();
    }

    /// <summary>Ends the loops.</summary>
    public async ValueTask DisposeAsync()
    {
        await _closing.CancelAsync().ConfigureAwait(false);
        await _loops.ConfigureAwait(false);
        _fetch.Member = null;
    }

    /// <inheritdoc cref="MemberQueues.Cursors"/>
    public IReadOnlyList<QueueCursor> Cursors() => _queues.Cursors();

    /// <inheritdoc cref="MemberQueues.OnGone"/>
    public void OnGone(QueueCursor cursor) => _queues.OnGone(cursor);

    /// <inheritdoc cref="QueueReleases.CommitAsync"/>
    public ValueTask CommitAsync(
        IReadOnlyList<QueueCursor> cursors,
        bool isNamed,
        CancellationToken cancellationToken,
        IReadOnlyDictionary<QueueCursor, long>? places = null) =>
        _releases.CommitAsync(cursors, isNamed, cancellationToken, places);

    /// <inheritdoc cref="QueueReleases.TryCommitAsync"/>
    public ValueTask TryCommitAsync(IReadOnlyList<QueueCursor> cursors, CancellationToken cancellationToken) =>
        _releases.TryCommitAsync(cursors, cancellationToken);

    void IReadingMember.OnConnectionLost() => _beats.OnConnectionLost();

    void IReadingMember.OnQueueLeft()
    {
        _beats.OnQueueLeft();
        _queues.Taken.Set();
    }

    /// <summary>Ends the session: its queues are dropped, and reading ends with the cause.</summary>
    public void Fail(EQueueException exception)
    {
        lock (_failing)
        {
            if (_failure is not null)
                return;
            _isLeftBehind = _queues.IsMember && exception.Code != ErrorCode.MemberReplaced;
            Volatile.Write(ref _failure, exception);
        }

        DropAll();
        _stream.Fail(exception);
        _queues.News.Set();
    }

    /// <summary>Lets the application know of queues that come or go.</summary>
    public async ValueTask TellAsync(
        Func<IReadOnlyList<QueueProgress>, CancellationToken, ValueTask>? callback, IReadOnlyList<QueueCursor> cursors)
    {
        if (callback is null)
            return;
        try
        {
            await callback([.. cursors.Select(static cursor => cursor.ToProgress())], _closing.Token)
                .ConfigureAwait(false);
        }
        catch (OperationCanceledException) when (_closing.IsCancellationRequested)
        {
            // The session ends meanwhile.
        }
        catch (Exception exception)
        {
            // Whatever the application throws, it must not keep a queue from its next owner.
            Log.MemberCallbackThrew(_terms.Logger, exception);
        }
    }

    /// <returns>False when a broker that is just restarting, or another passing trouble, may let the next attempt
    /// succeed.</returns>
    private async ValueTask<bool> TryJoinAsync(long begun, CancellationToken cancellationToken)
    {
        try
        {
            await Link.ConnectAsync(_terms.Client.RequestTimeout, cancellationToken).ConfigureAwait(false);
            await _beats.JoinAsync(cancellationToken).ConfigureAwait(false);
            return true;
        }
        catch (EQueueException exception) when (ErrorCodes.IsRetriable(exception.Code)
            && _terms.Client.TimeProvider.GetElapsedTime(begun) < _terms.Client.RequestTimeout)
        {
            return false;
        }
    }

    private async Task RunBeatsAsync()
    {
        await _beats.RunAsync().ConfigureAwait(false);
        _starts.GiveUp();
        if (_isLeftBehind && Link.Remoting.IsConnected)
            await TryLeaveAsync(stays: false, CancellationToken.None).ConfigureAwait(false);
    }

    private void DropAll()
    {
        _queues.DropAll(isFinal: true, isFailure: Failure is not null);
        _beats.GiveUpUrgent();
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
}
