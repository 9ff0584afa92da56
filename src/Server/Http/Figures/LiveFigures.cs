using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>Takes the samples that live streams show; streams share them.</summary>
/// <remarks>Thread-safe. One sample is taken at a time, at most twenty a second; backlogs of groups, which cost the
/// most, at most every 5 s.</remarks>
internal sealed class LiveFigures(TimeProvider time) : IDisposable
{
    private const int MostGroups = 100;

    private static readonly TimeSpan ShortestAge = TimeSpan.FromMilliseconds(50);
    private static readonly TimeSpan GroupAge = TimeSpan.FromSeconds(5);

    private readonly SemaphoreSlim _turn = new(1);
    private LiveSample? _last;
    private LiveGroup[] _groups = [];
    private long _groupsTaken;

    /// <summary>The figures as of now, or of a moment ago.</summary>
    public async Task<LiveSample> SampleAsync(ApiCall call)
    {
        await _turn.WaitAsync(call.Token);
        try
        {
            if (_last is { } last && time.GetElapsedTime(last.Taken) < ShortestAge)
                return last;
            StatsResponse stats = await call.InvokeAsync(new StatsRequest());
            if (_last is null || time.GetElapsedTime(_groupsTaken) >= GroupAge)
            {
                _groups = await CountGroupsAsync(call);
                _groupsTaken = time.GetTimestamp();
            }

            return _last = new LiveSample(time, time.GetTimestamp(), time.GetUtcNow(), stats, _groups);
        }
        finally
        {
            _turn.Release();
        }
    }

    public void Dispose() => _turn.Dispose();

    private static async Task<LiveGroup[]> CountGroupsAsync(ApiCall call)
    {
        ListGroupsResponse page = await call.InvokeAsync(new ListGroupsRequest(After: null, MostGroups));
        var groups = new List<LiveGroup>();
        foreach (GroupListing listing in page.Groups)
        {
            try
            {
                GroupDescription group = await call.InvokeAsync(
                    new DescribeGroupRequest(listing.Group, Topic: null, WithAges: false));
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
    public LiveBody Since(LiveSample? before) => new(
        ApiTime.Of(Time.ToUnixTimeMilliseconds()),
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
        Groups);

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
