using System.Runtime.CompilerServices;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>
/// Knows the brokers: keeps a connection to each of the given addresses and makes those for sending and reading.
/// </summary>
/// <remarks>
/// Thread-safe. What any broker can answer goes to the first of the given addresses that answers. Where the queues of a
/// topic are is asked at all of them; each has its own share. All addresses of one cluster count as one broker, from
/// the first answer of any of its nodes on. Each producer and reader has connections of its own, one per broker in its
/// routes.
/// </remarks>
internal sealed class BrokerDirectory : IAsyncDisposable
{
    private readonly Seed[] _seeds;
    private readonly ClusterMap _clusters;
    private readonly RouteFinder _routes;
    private readonly ConnectReports _reports;
    private readonly Guid _clientInstanceId = Guid.NewGuid();
    private readonly CancellationTokenSource _closing = new();
    private Seed[] _brokers;
    private int _preferred;
    private volatile bool _isDisposed;

    public BrokerDirectory(ClientOptions options)
    {
        Options = options;
        _reports = new ConnectReports(options);
        ServerAddress[] addresses = options.InMemory is null
            ? ServerAddress.ParseList(options.Addresses)
            : [ServerAddress.InMemory];
        _seeds = [.. addresses.Select((address, index) => new Seed(this, address, index))];
        _brokers = _seeds;
        _clusters = new ClusterMap(options, addresses, ArrangeSeeds);
        _routes = new RouteFinder(this, _seeds);
    }

    public ClientOptions Options { get; }

    public bool IsDisposed => _isDisposed;

    /// <summary>One of the given addresses for each broker, a cluster counting as one; a new list at each
    /// change.</summary>
    public IReadOnlyList<Seed> Brokers => Volatile.Read(ref _brokers);

    /// <summary>Which of the given addresses cannot be reached and why, in words; null = of none is it known.</summary>
    public string? Trouble
    {
        get
        {
            string[] troubles = Brokers.Select(static seed => seed.Trouble).OfType<string>().ToArray();
            return troubles.Length == 0 ? null : string.Join("; ", troubles);
        }
    }

    /// <summary>How many brokers and clusters there are: given addresses, those of one cluster counted once.</summary>
    public int ShareCount => Volatile.Read(ref _brokers).Length;

    /// <summary>A connection of its own to a broker; the caller disposes it.</summary>
    /// <param name="address">Where the broker listens.</param>
    /// <param name="readsHistory">Whether <see cref="BrokerLink.History"/> is wanted: by who keeps places.</param>
    public BrokerLink Open(ServerAddress address, bool readsHistory = false) =>
        new(address, Options, _clientInstanceId, _reports, readsHistory, _clusters);

    /// <summary>The number that a queue has for the application: unique over all brokers.</summary>
    /// <param name="address">Where its broker listens, out of a route.</param>
    /// <param name="number">What the broker calls it.</param>
    public int NumberOf(ServerAddress address, int number) =>
        _routes.ShareOf(address) is { } share ? Shares.NumberOf(number, share, ShareCount) : number;

    /// <summary>Whether a broker belongs to a given address that did not answer when it was asked last.</summary>
    public bool IsAway(ServerAddress address) => _routes.SeedOf(address) is { IsAway: true };

    /// <summary>The cluster that an address is a node of; null = none, as far as it is known.</summary>
    public Cluster? ClusterOf(ServerAddress address) => _clusters.Of(address);

    /// <summary>Asks the broker that listens at an address.</summary>
    public async ValueTask<TResponse> InvokeAtAsync<TRequest, TResponse>(
        ServerAddress address, IRequest<TRequest, TResponse> request, CancellationToken cancellationToken)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        if (Array.Find(_seeds, seed => seed.Address == address) is { } seed)
            return await seed.InvokeAsync(request, cancellationToken).ConfigureAwait(false);
        BrokerLink link = Open(address);
        await using (link.ConfigureAwait(false))
        {
            return await link.InvokeAsync(request, Options.RequestTimeout, cancellationToken).ConfigureAwait(false);
        }
    }

    /// <summary>Asks any broker.</summary>
    public async ValueTask<TResponse> InvokeAsync<TRequest, TResponse>(
        IRequest<TRequest, TResponse> request, CancellationToken cancellationToken)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        Seed seed = await GetAnyAsync(cancellationToken).ConfigureAwait(false);
        return await seed.InvokeAsync(request, cancellationToken).ConfigureAwait(false);
    }

    /// <summary>
    /// Asks every broker, one after the other; the first refusal is thrown when all have been asked.
    /// </summary>
    /// <param name="requestOf">The request for the broker at an address, by index; null = it is not asked.</param>
    /// <param name="absences">Refusals that count as no answer as long as another broker gives one.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>The answers with the indices of their addresses. A broker that has several addresses is asked
    /// once.</returns>
    /// <exception cref="EQueueException">Unreachable: one of them is away, and none was asked.</exception>
    public async ValueTask<IReadOnlyList<BrokerAnswer<TResponse>>> InvokeEachAsync<TRequest, TResponse>(
        Func<int, TRequest?> requestOf, ErrorCode[] absences, CancellationToken cancellationToken)
        where TRequest : class, IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        List<BrokerAnswer<TResponse>> answers = [];
        EQueueException? refusal = null;
        EQueueException? absent = null;
        foreach (Seed seed in await ConnectEachAsync(cancellationToken).ConfigureAwait(false))
        {
            int share = seed.Share;
            if (requestOf(share) is not { } request)
                continue;
            try
            {
                TResponse answer = await seed.InvokeAsync(request, cancellationToken).ConfigureAwait(false);
                answers.Add(new BrokerAnswer<TResponse>(share, answer));
            }
            catch (EQueueException exception) when (absences.Contains(exception.Code))
            {
                absent ??= exception;
            }
            catch (EQueueException exception)
            {
                refusal ??= exception;
            }
        }

        if (refusal is not null || (answers.Count == 0 && absent is not null))
            throw refusal ?? absent!;
        return answers.Count > 0
            ? answers : throw new EQueueException(ErrorCode.InvalidArgument, "No broker has any of these queues.");
    }

    /// <summary>Lists what every broker has, page by page.</summary>
    /// <param name="pageOf">The page behind an item, and whether there are more.</param>
    /// <param name="nameOf">What items are in ordinal order of.</param>
    /// <param name="unite">Makes one list of those of several brokers.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="EQueueException">InternalError: a broker's pages do not lead on.</exception>
    public async IAsyncEnumerable<T> ListEachAsync<T>(
        Func<Seed, T?, CancellationToken, ValueTask<(IReadOnlyList<T> Items, bool HasMore)>> pageOf,
        Func<T, string> nameOf,
        Func<IEnumerable<T>, IEnumerable<T>> unite,
        [EnumeratorCancellation] CancellationToken cancellationToken)
        where T : class
    {
        List<T> gathered = [];
        IReadOnlyList<Seed> seeds = await ConnectEachAsync(cancellationToken).ConfigureAwait(false);
        foreach (Seed seed in seeds)
        {
            T? last = null;
            bool hasMore;
            do
            {
                (IReadOnlyList<T> items, hasMore) = await pageOf(seed, last, cancellationToken).ConfigureAwait(false);
                foreach (T item in items)
                {
                    // Each page is behind the one before: one that is not would be asked for again without end.
                    if (last is not null && string.CompareOrdinal(nameOf(item), nameOf(last)) <= 0)
                        throw Faults.Unordered(nameOf(last), nameOf(item));
                    last = item;
                    if (seeds.Count == 1)
                        yield return item;
                    else
                        gathered.Add(item);
                }

                hasMore &= items.Count > 0;
            }
            while (hasMore);
        }

        foreach (T item in unite(gathered))
            yield return item;
    }

    /// <summary>Where the queues of a topic are, brokers that have never told waited for: what is asked needs all of
    /// them.</summary>
    public ValueTask<Route> RouteOfAsync(string topic, CancellationToken cancellationToken) =>
        RouteAsync([topic], autoCreate: false, cancellationToken, isPatient: true);

    /// <inheritdoc cref="RouteFinder.FindAsync"/>
    public async ValueTask<Route> RouteAsync(
        IReadOnlyList<string> topics, bool autoCreate, CancellationToken cancellationToken, bool isPatient = false)
    {
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _closing.Token);
        try
        {
            return await _routes
                .FindAsync(new RouteRequest(topics, autoCreate), isPatient, either.Token).ConfigureAwait(false);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.Cancelled && _isDisposed)
        {
            throw Faults.Disposed("client");
        }
    }

    /// <summary>Waits until any of the brokers has said hello.</summary>
    /// <exception cref="EQueueException">No address answered within the request timeout.</exception>
    public async ValueTask<Seed> GetAnyAsync(CancellationToken cancellationToken)
    {
        if (FindConnected() is { } connected)
            return connected;
        if (Brokers is [{ HasLink: true } only])
            return only;
        using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _closing.Token);
        TimeProvider time = Options.TimeProvider;
        long started = time.GetTimestamp();
        while (true)
        {
            // A single address is given all the time there is; of several, each has its turn.
            TimeSpan left = Options.RequestTimeout - time.GetElapsedTime(started);
            IReadOnlyList<Seed> brokers = Brokers;
            bool isLast = brokers.Count == 1 || left <= Options.ConnectTimeout;
            Seed seed = brokers[(int)((uint)Volatile.Read(ref _preferred) % brokers.Count)];
            try
            {
                await seed.ConnectAsync(Positive(isLast ? left : Options.ConnectTimeout), either.Token)
                    .ConfigureAwait(false);
                return seed;
            }
            catch (EQueueException exception) when (exception.Code == ErrorCode.Cancelled && _isDisposed)
            {
                throw Faults.Disposed("client");
            }
            catch (EQueueException exception) when (exception.Code is not (ErrorCode.Cancelled or ErrorCode.Disposed))
            {
                Interlocked.Increment(ref _preferred);
                if (FindConnected() is { } other)
                    return other;
                if (isLast)
                    throw;
            }
        }
    }

    public async ValueTask DisposeAsync()
    {
        _isDisposed = true;
        await _closing.CancelAsync().ConfigureAwait(false);
        await _clusters.DisposeAsync().ConfigureAwait(false);
        foreach (Seed seed in _seeds)
            await seed.DisposeAsync().ConfigureAwait(false);
    }

    private static TimeSpan Positive(TimeSpan span) => span < TimeSpan.Zero ? TimeSpan.Zero : span;

    private Seed? FindConnected()
    {
        int first = Volatile.Read(ref _preferred);
        IReadOnlyList<Seed> brokers = Brokers;
        for (int i = 0; i < brokers.Count; i++)
        {
            Seed seed = brokers[(int)((uint)(first + i) % brokers.Count)];
            if (seed.IsConnected)
                return seed;
        }

        return null;
    }

    /// <summary>Waits until every broker has said hello; one of several addresses only once.</summary>
    private async ValueTask<IReadOnlyList<Seed>> ConnectEachAsync(CancellationToken cancellationToken)
    {
        while (true)
        {
            IReadOnlyList<Seed> brokers = Brokers;
            if (brokers.Count == 1)
                return [await GetAnyAsync(cancellationToken).ConfigureAwait(false)];
            using var either = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, _closing.Token);
            try
            {
                await Task.WhenAll(brokers.Select(seed =>
                    seed.ConnectAsync(Options.RequestTimeout, either.Token).AsTask())).ConfigureAwait(false);
            }
            catch (EQueueException exception) when (exception.Code == ErrorCode.Cancelled && _isDisposed)
            {
                throw Faults.Disposed("client");
            }

            // Who answered may have said that several addresses are one cluster's.
            if (brokers == Brokers)
                return [.. brokers.DistinctBy(static seed => seed.StoreId)];
        }
    }

    /// <summary>Counts the addresses of each cluster as one broker, in the order of the first of them.</summary>
    /// <returns>What is to be done outside of the map's gate.</returns>
    private Action ArrangeSeeds()
    {
        List<Seed> brokers = [];
        foreach (Seed seed in _seeds)
        {
            Seed stands = _clusters.Of(seed.Address) is { } cluster
                ? Array.Find(_seeds, one => one.Address == cluster.Address) ?? seed : seed;
            if (!brokers.Contains(stands))
                brokers.Add(stands);
            seed.StandBehind(stands, brokers.IndexOf(stands));
        }

        Volatile.Write(ref _brokers, [.. brokers]);
        return () => Array.ForEach(_seeds, static seed => seed.LeaveIdleLink());
    }
}
