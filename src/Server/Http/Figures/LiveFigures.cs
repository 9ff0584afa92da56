using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>Takes the samples that live streams show; streams share them, and show of them what
/// their askers may see.</summary>
/// <remarks>Thread-safe. One sample is taken at a time, in the owner's name, at most twenty a second; backlogs of
/// groups, which cost the most, at most every 5 s.</remarks>
internal sealed class LiveFigures(AskerClients? clients, TimeProvider time) : IAsyncDisposable
{
    private const int MostGroups = 100;

    private static readonly TimeSpan ShortestAge = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan GroupAge = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    private readonly SemaphoreSlim _turn = new(1);
    private readonly KeptClient _kept = new();
    private LiveSample? _last;
    private LiveGroup[] _groups = [];
    private long _groupsTaken;

    /// <summary>The figures as of now, or of a moment ago.</summary>
    public async Task<LiveSample> SampleAsync(CancellationToken cancellationToken)
    {
        await _turn.WaitAsync(cancellationToken);
        try
        {
            if (_last is { } last && time.GetElapsedTime(last.Taken) < ShortestAge)
                return last;
            return _last = await TakeAsync(cancellationToken);
        }
        finally
        {
            _turn.Release();
        }
    }

    public ValueTask DisposeAsync()
    {
        _turn.Dispose();
        return _kept.DisposeAsync();
    }

    private async Task<LiveSample> TakeAsync(CancellationToken cancellationToken)
    {
        if (clients is null)
            throw new EQueueException(ErrorCode.Unreachable);
        AskerClient client = clients.Rent(new InProcessWord(HttpIdentity.Owner, Address: null), _kept);
        bool isAtRest = false;
        try
        {
            StatsResponse stats = await client.InvokeAsync(new StatsRequest(), Patience, cancellationToken);
            if (_last is null || time.GetElapsedTime(_groupsTaken) >= GroupAge)
            {
                _groups = await CountGroupsAsync(client, cancellationToken);
                _groupsTaken = time.GetTimestamp();
            }

            isAtRest = true;
            return new LiveSample(time, time.GetTimestamp(), time.GetUtcNow(), stats, _groups);
        }
        finally
        {
            await AskerClients.ReturnAsync(client, isAtRest, _kept);
        }
    }

    private static async Task<LiveGroup[]> CountGroupsAsync(AskerClient client, CancellationToken cancellationToken)
    {
        ListGroupsResponse page = await client.InvokeAsync(
            new ListGroupsRequest(After: null, MostGroups), Patience, cancellationToken);
        var groups = new List<LiveGroup>();
        foreach (GroupListing listing in page.Groups)
        {
            try
            {
                GroupDescription group = await client.InvokeAsync(
                    new DescribeGroupRequest(listing.Group, Topic: null, WithAges: false), Patience, cancellationToken);
                groups.Add(new LiveGroup(listing.Group, group.Queues.Sum(static queue => queue.Lag)));
            }
            catch (EQueueException exception) when (exception.Code == ErrorCode.UnknownGroup)
            {
                // It went meanwhile.
            }
        }

        return [.. groups];
    }
}

/// <summary>The broker's figures at one moment.</summary>
internal sealed record LiveSample(
    TimeProvider Clock, long Taken, DateTimeOffset Time, StatsResponse Stats, IReadOnlyList<LiveGroup> Groups)
{
    /// <summary>What an event shows: levels now, and rates since an earlier sample.</summary>
    /// <param name="before">The earlier one; null = none.</param>
    /// <param name="groups">Those that may be shown.</param>
    public LiveBody Since(LiveSample? before, IReadOnlyList<LiveGroup> groups) => new(
        BodyTime.Of(Time.ToUnixTimeMilliseconds()),
        before is null ? null : RatesSince(before),
        new LiveLevels(
            Find("broker.connections"),
            Find("broker.topics"),
            Find("broker.queues"),
            Find("broker.groups"),
            Find("broker.groupMembers"),
            Find("broker.parkedFetches"),
            Find("broker.parkedProduces"),
            Find("store.isReadOnly"),
            Find("store.freeBytes")),
        groups);

    private LiveRates RatesSince(LiveSample before)
    {
        double seconds = Clock.GetElapsedTime(before.Taken, Taken).TotalSeconds;
        return new LiveRates(
            Rate("store.appendedMessages"),
            Rate("store.bytesWritten"),
            Rate("broker.fetchedBytes"),
            Rate("broker.requests"),
            Rate("broker.refusedRequests"));

        double Rate(string name) => Math.Round((Find(name) - before.Find(name)) / seconds, 1);
    }

    private long Find(string name) => Stats.Find(name) ?? 0;
}
