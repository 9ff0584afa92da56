using System.Diagnostics.CodeAnalysis;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>Membership of a group: one session per broker that holds queues of the topics.</summary>
/// <remarks>
/// Nothing is agreed between brokers: each gives out its own queues, and one that is away takes only those with it.
/// See the other part for commits.
/// </remarks>
[SuppressMessage("Design", "CA1001", Justification = "CloseAsync releases both.")]
internal sealed partial class GroupMember : IStreamOwner
{
    private readonly BrokerDirectory _directory;
    private readonly MessageStream _stream;
    private readonly MemberTerms _terms;
    private readonly SemaphoreSlim _turn = new(1, 1);
    private readonly CancellationTokenSource _closing = new();
    private readonly WakeSignal _commitDue = new();
    private readonly Dictionary<ServerAddress, MemberSession> _byAddress = [];
    private MemberSession[] _sessions = [];
    private Task _loops = Task.CompletedTask;
    private bool _areLoopsRunning;

    /// <summary>Every broker has told its share: what is missing from here on was deleted, and stays so.</summary>
    private bool _hasRoutes;
    private bool _hasToldMissing;
    private volatile bool _isJoinedWholly;

    public GroupMember(
        BrokerDirectory directory,
        MessageStream stream,
        string group,
        IReadOnlyList<string> topics,
        ConsumerOptions options)
    {
        _directory = directory;
        _stream = stream;
        ILogger logger = directory.Options.LoggerFactory.CreateLogger("EQueue.Client.Consumer");
        _terms = new MemberTerms(group, Guid.NewGuid(), topics, options, directory.Options, logger);
        stream.Owner = this;
    }

    bool IStreamOwner.IsSettled => Array.TrueForAll(Sessions, static session => session.IsSettled);

    private MemberSession[] Sessions => Volatile.Read(ref _sessions);

    private bool IsJoined =>
        _isJoinedWholly && Sessions is { Length: > 0 } sessions
        && Array.TrueForAll(sessions, static session => session.IsAlive);

    /// <summary>Joins at every broker, unless that is done.</summary>
    public async ValueTask JoinAsync(CancellationToken cancellationToken)
    {
        if (IsJoined)
            return;
        ObjectDisposedException.ThrowIf(_closing.IsCancellationRequested, typeof(Consumer));
        await _turn.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            ObjectDisposedException.ThrowIf(_closing.IsCancellationRequested, typeof(Consumer));
            if (!IsJoined)
                await JoinBrokersAsync(cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            _turn.Release();
        }
    }

    /// <summary>Commits and leaves; a later join begins anew.</summary>
    /// <param name="stays">A static member will be back.</param>
    /// <param name="cancellationToken">Ends the wait for the brokers: it is left all the same.</param>
    public async ValueTask LeaveAsync(bool stays, CancellationToken cancellationToken)
    {
        await _turn.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            using var patience = new CancellationTokenSource(_terms.Client.CloseTimeout, _terms.Client.TimeProvider);
            using var either = CancellationTokenSource.CreateLinkedTokenSource(patience.Token, cancellationToken);
            await LeaveAllAsync(stays, either.Token).ConfigureAwait(false);
            cancellationToken.ThrowIfCancellationRequested();
        }
        finally
        {
            _turn.Release();
        }
    }

    /// <summary>Commits and leaves for good.</summary>
    /// <param name="patience">Ends the wait for the brokers.</param>
    public async ValueTask CloseAsync(CancellationToken patience)
    {
        await _closing.CancelAsync().ConfigureAwait(false);
        await _turn.WaitAsync(CancellationToken.None).ConfigureAwait(false);
        await _loops.ConfigureAwait(false);
        await LeaveAllAsync(stays: _terms.Options.InstanceId is not null, patience).ConfigureAwait(false);
        _turn.Release();
        _closing.Dispose();
    }

    private async ValueTask LeaveAllAsync(bool stays, CancellationToken patience)
    {
        MemberSession[] sessions = Sessions;
        _isJoinedWholly = false;
        _byAddress.Clear();
        Volatile.Write(ref _sessions, []);
        await Task.WhenAll(sessions.Select(session => session.LeaveAsync(stays, patience).AsTask()))
            .ConfigureAwait(false);
    }

    /// <summary>Within the turn.</summary>
    private async ValueTask JoinBrokersAsync(CancellationToken cancellationToken)
    {
        // A refusal leaves it so: the next call continues where this one ends.
        _isJoinedWholly = false;
        foreach ((ServerAddress address, MemberSession session) in _byAddress.ToArray())
        {
            if (!session.IsAlive)
                await LeaveAsync(address, session).ConfigureAwait(false);
        }

        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _closing.Token);
        List<ServerAddress> present = [];
        List<ServerAddress> away = [];
        foreach (ServerAddress address in await FindBrokersInTimeAsync(either.Token).ConfigureAwait(false))
        {
            if (!_byAddress.ContainsKey(address))
                (_directory.IsAway(address) ? away : present).Add(address);
        }

        // Those that are away are waited for only where there is no other broker to read from.
        bool isAnyThere = present.Count > 0 || _byAddress.Count > 0;
        (List<ServerAddress> atOnce, List<ServerAddress> later) = isAnyThere ? (present, away) : (away, present);
        EQueueException?[] failures = await Task.WhenAll(atOnce.Select(address => JoinAsync(address, either.Token)))
            .ConfigureAwait(false);
        EQueueException? failure = failures.FirstOrDefault(static one => one is { IsRetriable: false })
            ?? (_byAddress.Count == 0 ? failures.FirstOrDefault(static one => one is not null) : null);
        if (failure is not null)
            throw failure;

        // Their queues come when they are back; the others are read meanwhile.
        foreach (ServerAddress address in later.Concat(atOnce.Where((_, index) => failures[index] is not null)))
            JoinLater(address);
        _isJoinedWholly = true;
        if (_areLoopsRunning)
            return;
        _areLoopsRunning = true;
        _loops = Task.WhenAll(
            _terms.Options.AutoCommit && _terms.KeepsProgress
                ? Task.Run(RunCommitsAsync, CancellationToken.None)
                : Task.CompletedTask,
            Task.Run(RunRoutesAsync, CancellationToken.None));
    }

    /// <returns>Why not, or null.</returns>
    private async Task<EQueueException?> JoinAsync(ServerAddress address, CancellationToken cancellationToken)
    {
        var session = new MemberSession(_terms, _stream, _stream.GetSession(address));
        try
        {
            await session.JoinAsync(cancellationToken).ConfigureAwait(false);
        }
        catch (EQueueException exception)
        {
            await session.LeaveAsync(stays: false, cancellationToken).ConfigureAwait(false);
            return exception;
        }
        catch (OperationCanceledException)
        {
            await session.LeaveAsync(stays: false, cancellationToken).ConfigureAwait(false);
            throw;
        }

        Keep(address, session);
        return null;
    }

    private void JoinLater(ServerAddress address)
    {
        var session = new MemberSession(_terms, _stream, _stream.GetSession(address));
        session.Start();
        Keep(address, session);
    }

    private void Keep(ServerAddress address, MemberSession session)
    {
        lock (_byAddress)
        {
            _byAddress[address] = session;
            Volatile.Write(ref _sessions, [.. _byAddress.Values]);
        }
    }

    private async ValueTask LeaveAsync(ServerAddress address, MemberSession session)
    {
        lock (_byAddress)
        {
            _byAddress.Remove(address);
            Volatile.Write(ref _sessions, [.. _byAddress.Values]);
        }

        using var patience = new CancellationTokenSource(_terms.Client.CloseTimeout, _terms.Client.TimeProvider);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(patience.Token, _closing.Token);
        await session.LeaveAsync(stays: false, either.Token).ConfigureAwait(false);
        _stream.Leave(address);
    }

    /// <summary>Asks until a broker that is just restarting answers, for no longer than a request may take.</summary>
    private async ValueTask<HashSet<ServerAddress>> FindBrokersInTimeAsync(CancellationToken cancellationToken)
    {
        long begun = _terms.Client.TimeProvider.GetTimestamp();
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                return await FindBrokersAsync(cancellationToken).ConfigureAwait(false);
            }
            catch (EQueueException exception) when (exception.IsRetriable
                && _terms.Client.TimeProvider.GetElapsedTime(begun) < _terms.Client.RequestTimeout)
            {
                await _terms.Client
                    .PauseAsync(attempt, cancellationToken, exception.RetryAfter).ConfigureAwait(false);
            }
        }
    }

    /// <summary>
    /// The brokers with queues of the topics; where there is none yet, those that may come to have some. Those that
    /// have never answered may as well.
    /// </summary>
    private async ValueTask<HashSet<ServerAddress>> FindBrokersAsync(CancellationToken cancellationToken)
    {
        bool mayCreate = _terms.Options.AutoCreateTopics && !_hasRoutes;
        Route route = await _directory.RouteAsync(_terms.Topics, mayCreate, cancellationToken).ConfigureAwait(false);
        _hasRoutes |= route.IsComplete;
        HashSet<ServerAddress> found = [.. route.Missing];
        foreach (TopicRoute topic in route.Answer.Topics)
        {
            if (topic.Error is not (ErrorCode.None or ErrorCode.UnknownTopic))
                throw new EQueueException(topic.Error, $"{ErrorCodes.Describe(topic.Error)}: {topic.Topic}.");
            foreach (QueueRoute queue in topic.Queues)
                found.Add(route.AddressOf(queue));
        }

        if (route.IsComplete)
            await TellMissingAsync(route).ConfigureAwait(false);

        if (found.Count == route.Missing.Count)
            found.UnionWith(route.Addresses);
        return found;
    }

    /// <summary>Says once which topics do not exist: a typo would wait without end and without a word.</summary>
    private async ValueTask TellMissingAsync(Route route)
    {
        if (_hasToldMissing)
            return;
        _hasToldMissing = true;
        foreach (TopicRoute? topic in route.Answer.Topics.Where(static topic => topic.Error == ErrorCode.UnknownTopic))
        {
            string[] near = await NearNames.FindAsync(_directory, topic.Topic).ConfigureAwait(false);
            Log.TopicMissing(
                _terms.Logger, _terms.Group, topic.Topic, near.Length == 0 ? "" : " " + NearNames.Ask(near));
        }
    }

    /// <summary>Asks again where the queues are: joins at new brokers, leaves those that hold none any more.</summary>
    private async Task RunRoutesAsync()
    {
        try
        {
            while (true)
            {
                await Task.Delay(_terms.Options.RouteRefreshInterval, _terms.Client.TimeProvider, _closing.Token)
                    .ConfigureAwait(false);
                await _turn.WaitAsync(_closing.Token).ConfigureAwait(false);
                try
                {
                    await RefreshAsync().ConfigureAwait(false);
                }
                finally
                {
                    _turn.Release();
                }
            }
        }
        catch (OperationCanceledException)
        {
            // The member ends.
        }
    }

    private async ValueTask RefreshAsync()
    {
        try
        {
            if (!IsJoined)
                return;
            HashSet<ServerAddress> found = await FindBrokersAsync(_closing.Token).ConfigureAwait(false);
            foreach ((ServerAddress address, MemberSession session) in _byAddress.ToArray())
            {
                if (!found.Contains(address))
                    await LeaveAsync(address, session).ConfigureAwait(false);
            }

            foreach (ServerAddress address in found.Where(address => !_byAddress.ContainsKey(address)))
                JoinLater(address);
        }
        catch (EQueueException exception)
        {
            Log.RefreshFailed(_terms.Logger, string.Join(", ", _terms.Topics), exception.Message);
        }
    }

    /// <summary>A queue's topic was removed: the other queues go on.</summary>
    void IStreamOwner.OnQueueGone(QueueCursor cursor) => ((MemberSession)cursor.Owner!).OnGone(cursor);

    void IStreamOwner.OnCommitDue() => _commitDue.Set();
}
