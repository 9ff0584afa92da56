using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>Membership of a group: joins, stays alive, takes and gives up queues, commits.</summary>
/// <remarks>
/// Heartbeats and commits go over the connection of the fetch session, because the broker holds a member to be gone
/// with its connection. One loop beats the heart, one commits; both end with the member.
/// </remarks>
internal sealed class GroupMember : IAsyncDisposable
{
    private readonly BrokerDirectory _directory;
    private readonly MessageStream _stream;
    private readonly string _group;
    private readonly IReadOnlyList<string> _topics;
    private readonly ConsumerOptions _options;
    private readonly ClientOptions _client;
    private readonly ILogger _logger;
    private readonly Guid _member = Guid.NewGuid();
    private readonly SemaphoreSlim _turn = new(1, 1);
    private readonly SemaphoreSlim _commitTurn = new(1, 1);
    private readonly CancellationTokenSource _closing = new();
    private Task _heartbeats = Task.CompletedTask;
    private Task _commits = Task.CompletedTask;
    private volatile FetchSession? _session;
    private GroupGeneration _generation;
    private uint _sequence;
    private TimeSpan _heartbeatInterval;
    private volatile bool _isJoined;
    private bool _areLoopsRunning;

    public GroupMember(
        BrokerDirectory directory,
        MessageStream stream,
        string group,
        IReadOnlyList<string> topics,
        ConsumerOptions options)
    {
        _directory = directory;
        _stream = stream;
        _group = group;
        _topics = topics;
        _options = options;
        _client = directory.Options;
        _logger = _client.LoggerFactory.CreateLogger("EQueue.Client.Consumer");
        stream.Dropped = OnDroppedAsync;
    }

    /// <summary>Joins, unless that is done.</summary>
    public async ValueTask JoinAsync(CancellationToken cancellationToken)
    {
        if (_isJoined && _session is { Link.IsStale: false })
            return;
        ObjectDisposedException.ThrowIf(_closing.IsCancellationRequested, typeof(Consumer));
        await _turn.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            if (_isJoined && _session is { Link.IsStale: false })
                return;
            await JoinFirstAsync(cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            _turn.Release();
        }
    }

    /// <summary>Commits the processed offsets of queues.</summary>
    public async ValueTask CommitAsync(IReadOnlyList<QueueCursor> cursors, CancellationToken cancellationToken)
    {
        var session = _session;
        if (session is null || cursors.Count == 0)
            return;
        await _commitTurn.WaitAsync(cancellationToken).ConfigureAwait(false);
        try
        {
            await GroupCommit.SendAsync(
                session.Link, _group, _member, cursors, _client.RequestTimeout, cancellationToken)
                .ConfigureAwait(false);
        }
        finally
        {
            _commitTurn.Release();
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _closing.CancelAsync().ConfigureAwait(false);
        await _turn.WaitAsync(CancellationToken.None).ConfigureAwait(false);
        await _heartbeats.ConfigureAwait(false);
        await _commits.ConfigureAwait(false);
        if (_isJoined && _session is { } session && session.Link.Remoting.IsConnected)
        {
            if (_options.AutoCommit)
                await TryCommitAsync(CancellationToken.None).ConfigureAwait(false);
            await LeaveAsync(session).ConfigureAwait(false);
        }

        _isJoined = false;
        _turn.Release();
        _closing.Dispose();
    }

    private async ValueTask JoinFirstAsync(CancellationToken cancellationToken)
    {
        // Queue ids of another store mean nothing: whatever is left of them goes.
        foreach (var cursor in _stream.Cursors)
            _stream.Remove(cursor);
        var route = await _directory
            .RouteAsync(_topics, _options.AutoCreateTopics, cancellationToken).ConfigureAwait(false);
        var unknown = route.Answer.Topics.FirstOrDefault(static topic => topic.Error != ErrorCode.None);
        if (unknown is not null)
            throw new EQueueException(unknown.Error, $"{ErrorCodes.Describe(unknown.Error)}: {unknown.Topic}.");
        var session = _stream.GetSession(route.Source);
        _session = session;
        await session.Link.ConnectAsync(_client.RequestTimeout, cancellationToken).ConfigureAwait(false);
        await BeatAsync(session, GroupGeneration.Join, cancellationToken).ConfigureAwait(false);
        _isJoined = true;
        Log.Joined(_logger, _member, _group, _generation, _stream.Cursors.Count);
        if (_areLoopsRunning)
            return;
        _areLoopsRunning = true;
        _heartbeats = Task.Run(RunHeartbeatsAsync, CancellationToken.None);
        if (_options.AutoCommit)
            _commits = Task.Run(RunCommitsAsync, CancellationToken.None);
    }

    /// <summary>One heartbeat; generation 0 joins.</summary>
    private async ValueTask BeatAsync(
        FetchSession session, GroupGeneration generation, CancellationToken cancellationToken)
    {
        var request = new GroupHeartbeatRequest
        {
            Group = _group,
            Member = _member,
            Sequence = ++_sequence,
            Generation = generation,
            InstanceId = _options.InstanceId,
            SessionTimeout = _options.SessionTimeout,
            ReleaseTimeout = _options.SessionTimeout,
            Subscriptions = generation == GroupGeneration.Join
                ? [.. _topics.Select(topic => new TopicSubscription(topic, _options.Tags))]
                : null,
            Owned = [.. _stream.Cursors.Select(static cursor => new OwnedQueue(cursor.Key, cursor.Grant))],
        };
        var answer = await session.Link
            .InvokeAsync(request, HeartbeatTimeout, cancellationToken).ConfigureAwait(false);
        _generation = answer.Generation;
        _heartbeatInterval = answer.NextHeartbeat;
        if (answer.Assignment is not { } assignment)
            return;
        try
        {
            await AssignAsync(session, assignment, cancellationToken).ConfigureAwait(false);
        }
        catch
        {
            // Half an assignment is none, and the broker tells it once per join.
            _generation = GroupGeneration.Join;
            throw;
        }
    }

    private TimeSpan HeartbeatTimeout =>
        _options.SessionTimeout < _client.RequestTimeout ? _options.SessionTimeout : _client.RequestTimeout;

    /// <summary>Gives up the queues that are gone and starts the new ones where the group has committed.</summary>
    private async ValueTask AssignAsync(
        FetchSession session, IReadOnlyList<AssignedTopic> assignment, CancellationToken cancellationToken)
    {
        var wanted = assignment
            .SelectMany(static topic => topic.Queues.Select(queue => (topic.Topic, Queue: queue)))
            .ToDictionary(static one => one.Queue.Queue);
        foreach (var cursor in _stream.Cursors)
        {
            if (wanted.TryGetValue(cursor.Key, out var kept) && kept.Queue.Grant == cursor.Grant)
                wanted.Remove(cursor.Key);
            else
                _stream.Remove(cursor);
        }

        if (wanted.Count == 0)
            return;
        FetchQueueKey[] keys = [.. wanted.Keys];
        var committed = await session.Link
            .InvokeAsync(new ReadOffsetsRequest(_group, keys), _client.RequestTimeout, cancellationToken)
            .ConfigureAwait(false);
        var places = committed.Offsets.ToDictionary(static offset => offset.Queue, static offset => offset.Next.Value);
        foreach (var key in keys)
        {
            var (topic, queue) = wanted[key];
            var place = places.GetValueOrDefault(key, -1);
            var start = place >= 0
                ? new QueueOffset(place)
                : _options.StartAt.KnownOffset ?? await session
                    .FindOffsetAsync(_options.StartAt.ToQuestion(key), cancellationToken).ConfigureAwait(false);
            var cursor = new QueueCursor(topic, queue.Number, key, start)
            {
                Committed = place,
                Grant = queue.Grant,
            };
            if (_options.StopAtEnd)
            {
                var end = new OffsetQuestion(key, OffsetQuestion.End);
                cursor.StopAt = (await session.FindOffsetAsync(end, cancellationToken).ConfigureAwait(false)).Value;
                cursor.VisibleEnd = cursor.StopAt;
            }

            _stream.Add(session, cursor);
        }
    }

    private async Task RunHeartbeatsAsync()
    {
        var failures = 0;
        while (!_closing.IsCancellationRequested)
        {
            try
            {
                var pause = failures == 0 ? _heartbeatInterval : _client.ReconnectBackoffMin * Math.Min(failures, 20);
                await Task.Delay(pause, _client.TimeProvider, _closing.Token).ConfigureAwait(false);
                if (_isJoined && _session is { Link.IsStale: false } session)
                    await BeatAsync(session, _generation, _closing.Token).ConfigureAwait(false);
                failures = 0;
            }
            catch (OperationCanceledException)
            {
                return;
            }
            catch (EQueueException exception)
            {
                OnHeartbeatFailed(exception, ++failures);
            }
        }
    }

    private void OnHeartbeatFailed(EQueueException exception, int failures)
    {
        if (_closing.IsCancellationRequested)
            return;
        if (exception.Code is ErrorCode.UnknownMember or ErrorCode.FencedGeneration)
        {
            Log.JoinsAgain(_logger, _member, _group, exception.Code);
            _generation = GroupGeneration.Join;
        }
        else if (exception.IsRetriable && exception.Code != ErrorCode.GroupBusy)
        {
            if (failures == 1)
                Log.HeartbeatFailed(_logger, _group, exception.Message);
        }
        else
        {
            // Another member has the queues, or the broker will not have this one: reading ends, and begins with a
            // join.
            _isJoined = false;
            _stream.Fail(exception);
        }
    }

    private async Task RunCommitsAsync()
    {
        try
        {
            while (true)
            {
                await Task.Delay(_options.AutoCommitInterval, _client.TimeProvider, _closing.Token)
                    .ConfigureAwait(false);
                await TryCommitAsync(_closing.Token).ConfigureAwait(false);
            }
        }
        catch (OperationCanceledException)
        {
            // The member ends.
        }
    }

    private async ValueTask TryCommitAsync(CancellationToken cancellationToken)
    {
        try
        {
            await CommitAsync(_stream.Cursors, cancellationToken).ConfigureAwait(false);
        }
        catch (EQueueException exception)
        {
            if (!cancellationToken.IsCancellationRequested)
                Log.CommitFailed(_logger, _group, exception.Message);
        }
    }

    private async ValueTask LeaveAsync(FetchSession session)
    {
        try
        {
            await session.Link
                .InvokeAsync(
                    new GroupLeaveRequest(_group, _member, Stays: false), HeartbeatTimeout, CancellationToken.None)
                .ConfigureAwait(false);
        }
        catch (EQueueException exception)
        {
            Log.LeaveFailed(_logger, _group, exception.Message);
        }
    }

    /// <summary>
    /// A queue's topic was removed: the other queues go on, and the next assignment says what there is.
    /// </summary>
    private ValueTask OnDroppedAsync(QueueCursor cursor, ErrorCode error)
    {
        _stream.Remove(cursor);
        return ValueTask.CompletedTask;
    }
}
