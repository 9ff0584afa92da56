using System.Collections.Concurrent;
using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Finds out where the queues of topics are: asks every broker for its share and makes one route of
/// them.</summary>
/// <remarks>Thread-safe.</remarks>
/// <param name="directory">Knows which of the given addresses are brokers of their own.</param>
/// <param name="given">The given addresses.</param>
internal sealed class RouteFinder(BrokerDirectory directory, IReadOnlyList<Seed> given)
{
    /// <summary>How long a route waits for the slower brokers once one has answered.</summary>
    private static readonly TimeSpan LastCall = TimeSpan.FromMilliseconds(500);

    private readonly TimeSpan _requestTimeout = directory.Options.RequestTimeout;

    /// <summary>The given address at which an address belongs: the first of those that are the same.</summary>
    private readonly ConcurrentDictionary<ServerAddress, Seed> _seeds = new(
        given.DistinctBy(static seed => seed.Address).Select(static seed => KeyValuePair.Create(seed.Address, seed)));

    /// <summary>The given address whose broker listens at an address; null = no broker has told.</summary>
    public Seed? SeedOf(ServerAddress address) => _seeds.GetValueOrDefault(address);

    /// <summary>The share of the broker that listens at an address; null = no broker has told.</summary>
    public int? ShareOf(ServerAddress address) => SeedOf(address)?.Share;

    /// <summary>Where the queues of topics are; the errors of single topics stay in the answer.</summary>
    /// <remarks>Brokers that are away are waited for only while no other has answered; their queues stay in the route
    /// as they were told last.</remarks>
    /// <param name="request">The topics, and whether missing ones are to be made.</param>
    /// <param name="isPatient">Whether brokers that have never told are waited for all the same.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="EQueueException">No broker answered.</exception>
    public async ValueTask<Route> FindAsync(
        RouteRequest request, bool isPatient, CancellationToken cancellationToken)
    {
        while (true)
        {
            IReadOnlyList<Seed> brokers = directory.Brokers;
            try
            {
                Route route = brokers.Count > 1
                    ? await UniteAsync(brokers, request, isPatient, cancellationToken).ConfigureAwait(false)
                    : await AskAsync(brokers[0], request, cancellationToken).ConfigureAwait(false);
                if (brokers == directory.Brokers)
                    return route;
            }
            catch (EQueueException) when (brokers != directory.Brokers && !cancellationToken.IsCancellationRequested)
            {
                // As below: several addresses have turned out to be those of one cluster, which is one broker.
            }
        }
    }

    private async ValueTask<Route> AskAsync(Seed only, RouteRequest request, CancellationToken cancellationToken)
    {
        RouteResponse answer = await only
            .RouteAsync(request, only.HasLink ? null : _requestTimeout, cancellationToken).ConfigureAwait(false);
        return new Route(answer, only.AddressesIn(answer), []);
    }

    private async ValueTask<Route> UniteAsync(
        IReadOnlyList<Seed> seeds, RouteRequest request, bool isPatient, CancellationToken cancellationToken)
    {
        var asked = new Task<RouteResponse>[seeds.Count];
        using (var late = new CancellationTokenSource(Timeout.InfiniteTimeSpan, directory.Options.TimeProvider))
        using (var lastCall = CancellationTokenSource.CreateLinkedTokenSource(late.Token, cancellationToken))
        {
            // A broker that was away the last time is waited for only if there is no other.
            bool isAnyThere = seeds.Any(static seed => !seed.IsAway);
            for (int i = 0; i < seeds.Count; i++)
            {
                Seed seed = seeds[i];
                bool mustWait = isPatient && seed.Recall(request.Topics) is null;
                TimeSpan patience = isAnyThere && seed.IsAway && !mustWait ? TimeSpan.Zero : _requestTimeout;
                CancellationToken token = mustWait ? cancellationToken : lastCall.Token;
                asked[i] = seed.RouteAsync(request, patience, token).AsTask();
            }

            await WaitAsync(asked, late).ConfigureAwait(false);
        }

        RouteResponse?[] answers = Answers(asked, cancellationToken);
        for (int i = 0; i < seeds.Count; i++)
        {
            if (answers[i] is null && !seeds[i].IsConnected)
                seeds[i].NoteAbsence();
        }

        DropRefusals(answers);
        HashSet<Guid> stores = [];
        var shares = new RouteResponse?[seeds.Count];
        for (int i = 0; i < seeds.Count; i++)
        {
            // A broker with several addresses has one share.
            shares[i] = seeds[i].StoreId is { } store && !stores.Add(store)
                ? new RouteResponse([], [.. request.Topics.Select(Nothing)])
                : answers[i] ?? RecallUsable(seeds[i], request);
        }

        var route = Route.Union(request.Topics, shares, seeds);
        for (int i = 0; i < seeds.Count; i++)
            Learn(seeds[i], shares[i]);
        return route;

        static TopicRoute Nothing(string topic) => new(ErrorCode.UnknownTopic, topic, default, 0, []);
    }

    /// <summary>A broker that cannot tell its share now has told nothing, as long as another can: its queues must not
    /// be left out of those among which keys choose.</summary>
    private static void DropRefusals(RouteResponse?[] answers)
    {
        if (!Array.Exists(answers, static answer => answer is not null && !IsRefusal(answer)))
            return;
        for (int i = 0; i < answers.Length; i++)
        {
            if (answers[i] is { } answer && IsRefusal(answer))
                answers[i] = null;
        }

        static bool IsRefusal(RouteResponse answer) =>
            answer.Topics.Any(static topic => topic.Error is not (ErrorCode.None or ErrorCode.UnknownTopic));
    }

    /// <summary>What a broker told last; that a topic is not there says nothing to those who want it made.</summary>
    private static RouteResponse? RecallUsable(Seed seed, RouteRequest request) =>
        seed.Recall(request.Topics) is { } told
        && !(request.AutoCreate && told.Topics.Any(static topic => topic.Error != ErrorCode.None))
            ? told : null;

    /// <summary>Waits for the first answer, and a little for the others.</summary>
    private static async ValueTask WaitAsync(Task<RouteResponse>[] asked, CancellationTokenSource late)
    {
        List<Task<RouteResponse>> open = [.. asked];
        while (open.Count > 0)
        {
            Task<RouteResponse> done = await Task.WhenAny(open).ConfigureAwait(false);
            open.Remove(done);
            if (!done.IsCompletedSuccessfully)
                continue;
            late.CancelAfter(LastCall);
            await ((Task)Task.WhenAll(open)).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            return;
        }
    }

    /// <summary>The answers that came; throws when there is none.</summary>
    private static RouteResponse?[] Answers(Task<RouteResponse>[] asked, CancellationToken cancellationToken)
    {
        Exception? failure = null;
        var answers = new RouteResponse?[asked.Length];
        for (int i = 0; i < asked.Length; i++)
        {
            if (asked[i].IsCompletedSuccessfully)
                answers[i] = asked[i].Result;
            else
                failure ??= asked[i].Exception?.InnerException;
        }

        if (Array.Exists(answers, static answer => answer is not null))
            return answers;
        if (failure is null || cancellationToken.IsCancellationRequested)
            throw Faults.Cancelled(cancellationToken);
        throw failure as EQueueException
            ?? new EQueueException(ErrorCode.InternalError, failure.Message, failure);
    }

    private void Learn(Seed seed, RouteResponse? share)
    {
        if (share is null)
            return;
        foreach (ServerAddress address in seed.AddressesIn(share))
            _seeds.TryAdd(address, seed);
    }
}
