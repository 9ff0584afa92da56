using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Tells the broker's own figures. The list with meanings stands in docs/protocol.md.</summary>
internal sealed class StatsHandler(
    ModuleContext context, TopicCatalogue catalogue, GroupTable groups, BacklogTable backlogs, AuditLog audit)
{
    /// <summary>Topics with a bound that are told of, the first by name: the answer must fit into a frame.</summary>
    private const int MaxTopics = 1_000;

    private readonly QueueStore _store = context.Store;
    private readonly BrokerCounters _counters = context.Counters;
    private readonly MemoryLedger _ledger = context.Ledger;
    private readonly TimeProvider _time = context.Time;
    private readonly long _started = context.Time.GetTimestamp();

    public ValueTask<StatsResponse> HandleAsync(
        BrokerConnection peer, StatsRequest request, CancellationToken cancellationToken) =>
        ValueTask.FromResult(new StatsResponse(
            Collect(topic => PeerAccess.Of(peer).May(Permission.Describe, ResourceKind.Topic, topic))));

    /// <summary>Requests since the start.</summary>
    public long Requests => Volatile.Read(ref _counters.Requests);

    /// <summary>The figures now.</summary>
    /// <param name="isShown">Which topics are told of by name.</param>
    public StatsFigure[] Collect(Func<string, bool> isShown)
    {
        StoreFigures figures = _store.Figures;
        LogWatermarks marks = _store.Watermarks;
        StatsFigure[] fixedFigures =
        [
            new("process.cpuMicroseconds", CpuMicroseconds()),
            new("process.residentBytes", Environment.WorkingSet),
            new("process.allocatedBytes", GC.GetTotalAllocatedBytes()),
            new("process.collections", GC.CollectionCount(0)),
            new("process.uptimeMilliseconds", (long)_time.GetElapsedTime(_started).TotalMilliseconds),
            new("store.bytesWritten", figures.BytesWritten),
            new("store.writes", figures.Writes),
            new("store.fdatasyncs", figures.Syncs),
            new("store.appends", figures.Appends),
            new("store.appendedBatches", figures.Batches),
            new("store.appendedMessages", Volatile.Read(ref _counters.AppendedMessages)),
            new("store.duplicateBatches", figures.DuplicateBatches),
            new("store.memoryReads", figures.MemoryReads),
            new("store.diskReads", figures.DiskReads),
            new("store.segments", figures.Segments),
            new("store.segmentsLost", figures.SegmentsLost),
            new("store.segmentsRemoved", figures.SegmentsRemoved),
            new("store.segmentsPacked", figures.SegmentsPacked),
            new("store.snapshots", figures.Snapshots),
            new("store.freeBytes", figures.FreeBytes),
            new("store.isReadOnly", figures.IsReadOnly ? 1 : 0),
            new("store.isStalled", figures.IsStalled ? 1 : 0),
            new("store.oldestDiskCallMilliseconds", figures.OldestDiskCallMs),
            new("store.scrubbedBytes", figures.ScrubbedBytes),
            new("store.scrubBadRanges", figures.ScrubBadRanges),
            new("store.scrubPasses", figures.ScrubPasses),
            new("store.lastScrubEndTime", figures.LastScrubEndTimeMs),
            new("store.beginPosition", marks.Begin.Value),
            new("store.stagedPosition", marks.Staged.Value),
            new("store.writtenPosition", marks.Written.Value),
            new("store.durablePosition", marks.Durable.Value),
            new("store.visiblePosition", marks.Visible.Value),
            new("broker.connections", Volatile.Read(ref _counters.Connections)),
            new("broker.requests", Volatile.Read(ref _counters.Requests)),
            new("broker.refusedRequests", Volatile.Read(ref _counters.RefusedRequests)),
            new("broker.produceRequests", Volatile.Read(ref _counters.ProduceRequests)),
            new("broker.refusedBatches", Volatile.Read(ref _counters.RefusedBatches)),
            new("broker.parkedProduces", Volatile.Read(ref _counters.ParkedProduces)),
            new("broker.fetchRequests", Volatile.Read(ref _counters.FetchRequests)),
            new("broker.fetchedBytes", Volatile.Read(ref _counters.FetchedBytes)),
            new("broker.fetchSessions", Volatile.Read(ref _counters.FetchSessions)),
            new("broker.parkedFetches", Volatile.Read(ref _counters.ParkedFetches)),
            new("broker.commits", Volatile.Read(ref _counters.Commits)),
            new("broker.topics", catalogue.Count),
            new("broker.queues", catalogue.QueueCount),
            new("broker.groups", groups.Count),
            new("broker.groupMembers", groups.MemberCount),
            new("broker.parkedHeartbeats", Volatile.Read(ref _counters.ParkedHeartbeats)),
            new("broker.queueMoves", Volatile.Read(ref _counters.QueueMoves)),
            new("broker.sessionsEnded", Volatile.Read(ref _counters.SessionsEnded)),
            new("broker.fencedCommits", Volatile.Read(ref _counters.FencedCommits)),
            new("broker.groupsExpired", Volatile.Read(ref _counters.GroupsExpired)),
            new("broker.parkedBytes", backlogs.ParkedBytes),
            new("broker.receiveBytes", _ledger.Receive.UsedBytes),
            new("broker.throttledRequests", Volatile.Read(ref _counters.ThrottledRequests)),
            new("broker.throttledMilliseconds", Volatile.Read(ref _counters.ThrottledMilliseconds)),
        ];
        return
        [
            .. fixedFigures, .. CollectRefusals(),
            .. _ledger.Pools.SelectMany(CollectPool),
            .. backlogs.BoundedTopics.Where(backlog => isShown(backlog.Topic))
                .OrderBy(backlog => backlog.Topic, StringComparer.Ordinal).Take(MaxTopics).SelectMany(CollectBacklog),
        ];
    }

    private StatsFigure[] CollectRefusals() =>
    [
        new("broker.refusedLogins", Volatile.Read(ref _counters.RefusedLogins)),
        new("broker.unauthorizedRequests", Volatile.Read(ref _counters.UnauthorizedRequests)),
        new("audit.lost", audit.Lost),
    ];

    private static StatsFigure[] CollectPool(MemoryPool pool) =>
    [
        new($"memory.usedBytes{{{pool.Name}}}", pool.UsedBytes),
        new($"memory.maxBytes{{{pool.Name}}}", pool.MaxBytes),
        new($"memory.refusals{{{pool.Name}}}", pool.Refusals),
    ];

    private static StatsFigure[] CollectBacklog(TopicBacklog backlog)
    {
        string topic = backlog.Topic;
        BacklogFigures figures = backlog.Figures;
        return
        [
            new($"backlog.messages{{{topic}}}", figures.Messages),
            new($"backlog.bytes{{{topic}}}", figures.Bytes),
            new($"backlog.parked{{{topic}}}", figures.Waiting),
            new($"backlog.dropped{{{topic}}}", figures.Dropped),
            new($"backlog.rejected{{{topic}}}", figures.Rejected),
        ];
    }

    private static long CpuMicroseconds() =>
        OperatingSystem.IsIOS() || OperatingSystem.IsTvOS() || OperatingSystem.IsBrowser()
            ? 0
            : (long)Environment.CpuUsage.TotalTime.TotalMicroseconds;
}
