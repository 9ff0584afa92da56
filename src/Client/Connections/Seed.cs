using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Client;

/// <summary>One of the given addresses: the connection over which its broker is asked, and what it told last.</summary>
/// <remarks>Thread-safe. Of the addresses of a cluster one stands for all: the others ask over its
/// connection.</remarks>
internal sealed class Seed(BrokerDirectory directory, ServerAddress address, int index) : IAsyncDisposable
{
    private readonly Lock _gate = new();
    private readonly Dictionary<string, TopicRoute> _told = [];
    private readonly Endings _retired = new();
    private BrokerLink? _link;
    private IReadOnlyList<BrokerAddress> _brokers = [];
    private volatile bool _isAway;
    private volatile Seed? _other;
    private volatile int _share = index;
    private int _users;
    private bool _isDisposed;

    public ServerAddress Address { get; } = address;

    /// <summary>The place of its broker among the brokers; of a cluster, all addresses have the same.</summary>
    public int Share => _share;

    /// <summary>Whether it did not answer in time when it was asked last, and has no connection since.</summary>
    public bool IsAway => _isAway && !IsConnected;

    /// <summary>Whether it has been asked before: requests wait for the connection themselves.</summary>
    public bool HasLink => Volatile.Read(ref _link) is not null;

    public bool IsConnected => Volatile.Read(ref _link) is { IsStale: false } link && link.Remoting.IsConnected;

    /// <summary>Why it cannot be reached, in words; null = nothing is known to be wrong.</summary>
    public string? Trouble => Volatile.Read(ref _link)?.Trouble is { } reason ? $"{Address}: {reason}" : null;

    /// <summary>The store that answers there; null before it said hello.</summary>
    public Guid? StoreId => Volatile.Read(ref _link)?.Hello?.StoreId;

    /// <summary>It did not answer while others did.</summary>
    public void NoteAbsence() => _isAway = true;

    /// <summary>The connection, made at first need, and anew when another store answers there or credentials that were
    /// refused have changed.</summary>
    /// <exception cref="EQueueException">Disposed.</exception>
    public BrokerLink GetLink()
    {
        if (_other is { } other)
            return other.GetLink();
        BrokerLink? old = null;
        try
        {
            lock (_gate)
            {
                if (_isDisposed)
                    throw Faults.Disposed("client");
                if (_link is { IsStale: false, HasNewCredentials: false } link)
                    return link;
                old = _link;
                if (old is { IsStale: true })
                    _told.Clear();
                _link = directory.Open(Address);
                return _link;
            }
        }
        finally
        {
            // It takes no more calls.
            if (old is not null)
                _retired.Begin(old);
        }
    }

    /// <summary>Takes its place: as a broker of its own, or behind the address that stands for its cluster.</summary>
    /// <param name="seed">That address; itself = it stands for itself.</param>
    /// <param name="share">Of its broker.</param>
    public void StandBehind(Seed seed, int share)
    {
        _other = seed == this ? null : seed;
        _share = share;
    }

    /// <summary>Closes a connection of its own once it stands behind another address and no request needs it.</summary>
    public void LeaveIdleLink()
    {
        BrokerLink? idle;
        lock (_gate)
        {
            if (_other is null || _users > 0)
                return;
            idle = _link;
            _link = null;
        }

        if (idle is not null)
            _retired.Begin(idle);
    }

    /// <summary>Where the brokers of an answer listen: a cluster has one address, whichever of its nodes
    /// answers.</summary>
    public IReadOnlyList<ServerAddress> AddressesIn(RouteResponse answer) =>
        directory.ClusterOf(Address) is { } cluster
            ? [.. Enumerable.Repeat(cluster.Address, answer.Brokers.Count)]
            : Route.AddressesIn(answer, Address);

    /// <summary>Waits until its broker has said hello.</summary>
    /// <exception cref="EQueueException">Not within <paramref name="patience"/>, cancelled, disposed.</exception>
    public async ValueTask ConnectAsync(TimeSpan patience, CancellationToken cancellationToken)
    {
        using var use = new Use(this);
        while (true)
        {
            BrokerLink link = GetLink();
            try
            {
                await link.ConnectAsync(patience, cancellationToken).ConfigureAwait(false);
                _isAway = false;
                return;
            }
            catch (EQueueException) when (link.IsStale && !directory.IsDisposed)
            {
                // Another store answers there: it has a new link.
            }
            catch (EQueueException exception)
            {
                _isAway |= exception.Code == ErrorCode.Unreachable;
                throw;
            }
        }
    }

    /// <summary>Sends a request, again over a new connection when another store answers there.</summary>
    public async ValueTask<TResponse> InvokeAsync<TRequest, TResponse>(
        IRequest<TRequest, TResponse> request, CancellationToken cancellationToken)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        using var use = new Use(this);
        while (true)
        {
            BrokerLink link = GetLink();
            try
            {
                return await link
                    .InvokeAsync(request, directory.Options.RequestTimeout, cancellationToken).ConfigureAwait(false);
            }
            catch (EQueueException) when (link.IsStale && !directory.IsDisposed)
            {
                // The request did not reach the other store: it goes over a new link.
            }
        }
    }

    /// <summary>Asks where the queues of topics are.</summary>
    /// <param name="request">The topics.</param>
    /// <param name="patience">How long to wait for a connection; null = as long as for the answer.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="EQueueException">It gave no answer.</exception>
    public async ValueTask<RouteResponse> RouteAsync(
        RouteRequest request, TimeSpan? patience, CancellationToken cancellationToken)
    {
        if (patience is { } wait)
            await ConnectAsync(wait, cancellationToken).ConfigureAwait(false);
        RouteResponse answer =
            await AskRouteAsync(request with { AutoCreate = false }, cancellationToken).ConfigureAwait(false);
        if (request.AutoCreate && answer.Topics.Any(static topic => topic.Error == ErrorCode.UnknownTopic))
        {
            // Asked in two steps, so that it can be told that a topic was made: a typo makes one, too.
            RouteResponse missing = answer;
            ILogger logger = directory.Options.LoggerFactory.CreateLogger("EQueue.Client");
            answer = await AskRouteAsync(request, cancellationToken).ConfigureAwait(false);
            for (int i = 0; i < answer.Topics.Count; i++)
            {
                if (missing.Topics[i].Error == ErrorCode.UnknownTopic && answer.Topics[i].Error == ErrorCode.None)
                    Log.TopicCreated(logger, answer.Topics[i].Topic, Address);
            }
        }

        Remember(answer);
        return answer;
    }

    private async ValueTask<RouteResponse> AskRouteAsync(RouteRequest request, CancellationToken cancellationToken)
    {
        RouteResponse answer = await InvokeAsync(request, cancellationToken).ConfigureAwait(false);
        if (answer.Topics.Count != request.Topics.Count
            || answer.Topics.Any(topic => topic.Queues.Any(queue => queue.BrokerIndex >= answer.Brokers.Count)))
        {
            throw Faults.Malformed(Opcode.Route, Address.ToString());
        }

        return answer;
    }

    /// <summary>What it told last of topics while it was there; null when it has not told of all.</summary>
    public RouteResponse? Recall(IReadOnlyList<string> topics)
    {
        lock (_gate)
        {
            if (_link is { IsStale: true })
                return null;
            List<TopicRoute> found = [];
            foreach (string topic in topics)
            {
                if (!_told.TryGetValue(topic, out TopicRoute? route))
                    return null;
                found.Add(route);
            }

            return new RouteResponse(_brokers, found);
        }
    }

    public async ValueTask DisposeAsync()
    {
        BrokerLink? link;
        lock (_gate)
        {
            _isDisposed = true;
            link = _link;
        }

        if (link is not null)
            await link.DisposeAsync().ConfigureAwait(false);
        await _retired.WhenAllAsync().ConfigureAwait(false);
    }

    /// <summary>A request that may need the seed's own connection.</summary>
    private readonly struct Use : IDisposable
    {
        private readonly Seed _seed;

        public Use(Seed seed)
        {
            _seed = seed;
            Interlocked.Increment(ref seed._users);
        }

        public void Dispose()
        {
            Interlocked.Decrement(ref _seed._users);
            _seed.LeaveIdleLink();
        }
    }

    private void Remember(RouteResponse answer)
    {
        lock (_gate)
        {
            if (!answer.Brokers.SequenceEqual(_brokers))
            {
                // Their indices mean something else now.
                _told.Clear();
                _brokers = answer.Brokers;
            }

            foreach (TopicRoute topic in answer.Topics)
            {
                if (topic.Error is ErrorCode.None or ErrorCode.UnknownTopic)
                    _told[topic.Topic] = topic;
            }
        }
    }
}
