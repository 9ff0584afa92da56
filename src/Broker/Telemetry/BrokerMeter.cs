using System.Diagnostics.Metrics;
using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>One broker's metrics: what it counts anyway, read when a listener asks; docs/telemetry.md has the
/// list.</summary>
/// <remarks>Nothing here is on the path of a message but the two histograms, which the store records once per write
/// and once per fdatasync with a listener.</remarks>
internal sealed partial class BrokerMeter : IBrokerModule, IAsyncDisposable
{
    private static readonly InstrumentAdvice<double> DiskTimes = new()
    {
        HistogramBucketBoundaries =
            [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    };

    private readonly Meter _meter;
    private readonly BrokerParts _parts;
    private readonly TelemetryOptions _options;
    private readonly BacklogRanking _ranking;
    private readonly TopicSeries _topics;
    private GroupWatch? _groupWatch;
    private long _started;

    public BrokerMeter(BrokerParts parts)
    {
        _parts = parts;
        _options = parts.Context.Options.Telemetry;
        _ranking = new BacklogRanking(parts.Backlogs, parts.Context.Time);
        _topics = new TopicSeries(parts.Store, parts.Catalogue, _options.MaxSeries, parts.Context.Time);
        _meter = new Meter(new MeterOptions(BrokerTelemetry.MeterName)
        {
            Version = typeof(BrokerMeter).Assembly.GetName().Version?.ToString(),
            Tags = [new(BrokerTelemetry.StoreIdTag, parts.Store.StoreId.ToString())],
        });
    }

    private BrokerCounters Counters => _parts.Context.Counters;

    private QueueStore Store => _parts.Store;

    /// <summary>Makes the instruments, from now on to be listened to.</summary>
    public void Start()
    {
        _started = _parts.Context.Time.GetTimestamp();
        _groupWatch = new GroupWatch(_parts, new GroupInstruments(_meter));
        AddRequests();
        AddLevels();
        AddMemory();
        AddTopics();
        AddStoreCounters();
        AddStoreLevels();
        Store.ReportDurations(
            _meter.CreateHistogram(
                "equeue.store.write.duration", "s", "How long one write to the log took.", null, DiskTimes),
            _meter.CreateHistogram(
                "equeue.store.sync.duration", "s", "How long one fdatasync of the log took.", null, DiskTimes));
        _groupWatch.Start();
    }

    /// <inheritdoc/>
    public ValueTask StopAsync() => DisposeAsync();

    public async ValueTask DisposeAsync()
    {
        _meter.Dispose();
        if (_groupWatch is { } watch)
            await watch.DisposeAsync();
    }

    private void AddRequests()
    {
        Count("equeue.broker.requests", "{request}", "Requests read.", () => Counters.Requests);
        Count(
            "equeue.broker.refused_requests", "{request}", "Requests answered with an error.",
            () => Counters.RefusedRequests);
        Count(
            "equeue.broker.produce.requests", "{request}", "Produce requests read.", () => Counters.ProduceRequests);
        Count(
            "equeue.broker.produce.refused_batches", "{batch}", "Batches answered with an error.",
            () => Counters.RefusedBatches);
        Count("equeue.broker.fetch.requests", "{request}", "Fetch requests read.", () => Counters.FetchRequests);
        Count("equeue.broker.fetch.size", "By", "Bytes of entries given to readers.", () => Counters.FetchedBytes);
        Count("equeue.broker.commits", "{commit}", "Offsets committed.", () => Counters.Commits);
        Count(
            "equeue.broker.fenced_commits", "{commit}", "Commits refused: the queue is not the member's any more.",
            () => Counters.FencedCommits);
        Count("equeue.broker.queue_moves", "{queue}", "Queues given to another member.", () => Counters.QueueMoves);
        Count(
            "equeue.broker.sessions_ended", "{session}", "Members put out because they were silent.",
            () => Counters.SessionsEnded);
        Count(
            "equeue.broker.expired_groups", "{group}", "Groups forgotten after their retention.",
            () => Counters.GroupsExpired);
        Count(
            "equeue.broker.throttled_requests", "{request}", "Requests slowed by a quota.",
            () => Counters.ThrottledRequests);
        _meter.CreateObservableCounter(
            "equeue.broker.throttled_time", () => Volatile.Read(ref Counters.ThrottledMilliseconds) / 1000.0, "s",
            "Time by which requests were slowed.");
        Count(
            "equeue.broker.rejected_batches", "{batch}", "Batches refused because a backlog was at its bound.",
            () => Counters.RejectedBatches);
        Count(
            "equeue.broker.dropped_messages", "{message}", "Messages let go because a backlog was at its bound.",
            () => Counters.DroppedMessages);
        AddRefusals();
    }

    private void AddRefusals()
    {
        Count(
            "equeue.broker.refused_logins", "{login}", "Peers that were not admitted.", () => Counters.RefusedLogins);
        Count(
            "equeue.broker.unauthorized_requests", "{request}",
            "Requests, and batches, queues and topics within requests, that no rule allowed.",
            () => Counters.UnauthorizedRequests);
        Count(
            "equeue.audit.lost", "{line}", "Lines of the audit log that were not written and will not be.",
            () => _parts.Audit.Lost);
    }

    private void AddLevels()
    {
        Level(
            "equeue.broker.connections", "{connection}", "Connections that have said hello or may yet.",
            () => Counters.Connections);
        Level("equeue.broker.fetch_sessions", "{session}", "Fetch sessions.", () => Counters.FetchSessions);
        _meter.CreateObservableUpDownCounter(
            "equeue.broker.parked_requests", MeasureParked, "{request}",
            "Requests that wait without a thread: produce for room, fetch for messages, heartbeat for a change.");
        Level("equeue.broker.topics", "{topic}", "Topics.", () => _parts.Catalogue.Count);
        Level("equeue.broker.queues", "{queue}", "Queues of all topics.", () => _parts.Catalogue.QueueCount);
        Level("equeue.broker.groups", "{group}", "Groups with a member or progress.", () => _parts.Groups.Count);
        Level("equeue.broker.group_members", "{member}", "Members of groups.", () => _parts.Groups.MemberCount);
        _meter.CreateObservableGauge(
            "equeue.broker.uptime", () => _parts.Context.Time.GetElapsedTime(_started).TotalSeconds, "s",
            "Time since the broker's start.");
        _meter.CreateObservableGauge(
            "equeue.build.info", MeasureBuild, "{build}", "1, with the version of the broker and of .NET.");
    }

    private static Measurement<long> MeasureBuild() => new(
        1,
        new KeyValuePair<string, object?>("version", BrokerTelemetry.Version),
        new KeyValuePair<string, object?>("dotnet", Environment.Version.ToString()));

    private void AddMemory()
    {
        _meter.CreateObservableUpDownCounter(
            "equeue.broker.memory.usage", () => MeasurePools(pool => pool.UsedBytes), "By",
            "Memory that is kept for peers, by pool; docs/operating.md says what each holds.");
        _meter.CreateObservableUpDownCounter(
            "equeue.broker.memory.limit", () => MeasurePools(pool => pool.MaxBytes), "By",
            "What each pool may take.");
        _meter.CreateObservableCounter(
            "equeue.broker.memory.refusals", () => MeasurePools(pool => pool.Refusals), "{request}",
            "Requests that found no room in a pool: refused, or made to wait.");
    }

    private Measurement<long>[] MeasureParked() =>
    [
        Of(Counters.ParkedProduces, "messaging.operation.name", "send"),
        Of(Counters.ParkedFetches, "messaging.operation.name", "fetch"),
        Of(Counters.ParkedHeartbeats, "messaging.operation.name", "heartbeat"),
    ];

    private Measurement<long>[] MeasurePools(Func<MemoryPool, long> read) =>
        [.. _parts.Context.Ledger.Pools.Select(pool => Of(read(pool), "equeue.memory.pool", pool.Name))];

    private void Count(string name, string unit, string description, Func<long> read) =>
        _meter.CreateObservableCounter(name, read, unit, description);

    private void Level(string name, string unit, string description, Func<long> read) =>
        _meter.CreateObservableUpDownCounter(name, read, unit, description);

    private static Measurement<long> Of(long value, string tag, string tagValue) =>
        new(value, new KeyValuePair<string, object?>(tag, tagValue));
}
