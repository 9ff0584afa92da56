namespace EQueue.Load.Reporting;

/// <summary>
/// The figures of a row or run, by the path that they have in the JSON. Additions go to the end; none is ever removed.
/// </summary>
internal static class FigureNames
{
    public const string SendPerSecond = "sendPerSecond";
    public const string ConsumePerSecond = "consumePerSecond";
    public const string SendMBps = "sendMBps";
    public const string ConsumeMBps = "consumeMBps";
    public const string DiskWriteMBps = "diskWriteMBps";
    public const string Spread = "spread";
    public const string CpuPercent = "cpuPercent";
    public const string ResidentBytes = "rssBytes";
    public const string AllocatedBytesPerMessage = "allocatedBytesPerMessage";
    public const string Broker = "broker";
    public const string Producer = "producer";
    public const string Consumer = "consumer";
    public const string Fdatasyncs = "fdatasyncs";
    public const string BytesWritten = "bytesWritten";
    public const string AckLatency = "latencyUs.ack";
    public const string EndToEndLatency = "latencyUs.endToEnd";
    public const string LimitMBps = "limitMBps";
    public const string RatioToLimit = "ratioToLimit";
    public const string Missing = "missing";
    public const string Duplicated = "duplicated";
    public const string Reordered = "reordered";
    public const string Damaged = "damaged";
    public const string ReferenceValue = "reference.value";
    public const string ReferenceP99 = "reference.p99";
    public const string Messages = "messages";
    public const string ElapsedSeconds = "elapsedSeconds";
    public const string FdatasyncsPerSecond = "fdatasyncsPerSecond";
    public const string MessagesPerFdatasync = "messagesPerFdatasync";
    public const string ReferenceRatio = "reference.ratio";
    public const string ReadySeconds = "readySeconds";
    public const string LogBytes = "logBytes";
    public const string ReplayBytes = "replayBytes";
    public const string LiveBytes = "liveBytes";
    public const string LogToLive = "logToLive";
    public const string SettledToLive = "settledToLive";
    public const string SegmentsRemoved = "segmentsRemoved";
    public const string SegmentsPacked = "segmentsPacked";
    public const string SettleSeconds = "settleSeconds";
    public const string MaxDepth = "maxDepth";
    public const string RequestsPerMessage = "requestsPerMessage";
    public const string ResidentGrowth = "brokerGrowthBytes";
    public const string FetchedBytes = "fetchedBytes";
    public const string FetchedBytesOfAll = "fetchedBytesOfAll";
    public const string FetchedRatio = "fetchedRatio";
    public const string ReadSeconds = "readSeconds";
    public const string ReadSecondsOfAll = "readSecondsOfAll";
    public const string CreateSeconds = "createSeconds";
    public const string ListSeconds = "listSeconds";
    public const string DescribeSeconds = "describeSeconds";
    public const string WatchCpuPercent = "watchCpuPercent";
    public const string WatchResidentBytes = "watchRssBytes";
    public const string ReopenedResidentBytes = "reopenedRssBytes";
    public const string GroupToManual = "groupToManual";
    public const string Repeated = "repeated";
    public const string Rebalance = "rebalanceMs";
    public const string Count = "count";
    public const string SendNetworkMBps = "sendNetworkMBps";
    public const string ConsumeNetworkMBps = "consumeNetworkMBps";
    public const string ProcessDiskMBps = "processDiskMBps";
    public const string BareStreamMBps = "bareStreamMBps";
    public const string BarePingPongPerSecond = "barePingPongPerSecond";
    public const string OnewayToStream = "onewayToStream";
    public const string AsyncToOneway = "asyncToOneway";
    public const string SyncToPingPong = "syncToPingPong";
    public const string SendWindowPerSecond = "sendWindowPerSecond";
    public const string ReceiveWindowPerSecond = "receiveWindowPerSecond";
    public const string SendMegabitsPerSecond = "sendMegabitsPerSecond";
    public const string ReceiveMegabitsPerSecond = "receiveMegabitsPerSecond";
    public const string SubscribersPerSecond = "subscribersPerSecond";
    public const string SubscriberPerSecond = "subscriberPerSecond";
    public const string BlockedBatches = "blockedBatches";
    public const string ResumeSeconds = "resumeSeconds";
    public const string OpenConnections = "openConnections";
    public const string IdleConnections = "idleConnections";
    public const string BytesPerConnection = "bytesPerConnection";
    public const string ConnectionsPerSecond = "connectionsPerSecond";
    public const string Unstored = "unstored";
    public const string SendUsPerOperation = "sendUsPerOperation";
    public const string ConsumeUsPerOperation = "consumeUsPerOperation";
    public const string ReferenceSend = "reference.sendPerSecond";
    public const string Admin = "adminMs";
    public const string RatioToFirst = "ratioToFirst";
    public const string CoreToCoreNs = "coreToCoreNs";
    public const string Failover = "failoverMs";
    public const string Epochs = "epochs";
    public const string SingleEpochs = "singleEpochs";
    public const string BrokerCpuPerGB = "brokerCpuSecondsPerGB";
    public const string FollowerCpuPerGB = "followerCpuSecondsPerGB";

    /// <summary>The percentiles of a latency, with their names.</summary>
    public static readonly IReadOnlyList<(string Name, double Percent)> Percentiles =
        [("p50", 50), ("p90", 90), ("p99", 99), ("p999", 99.9), ("max", 100)];

    /// <summary>What happens to a group, by the name that it has under <see cref="Rebalance"/>.</summary>
    public static readonly IReadOnlyList<string> Changes = ["join", "leave", "kill"];

    /// <summary>Rates as the ZeroMQ report has them, and the sum over all subscribers.</summary>
    public static readonly IReadOnlyList<string> Windows =
    [
        SendWindowPerSecond, ReceiveWindowPerSecond, SendMegabitsPerSecond, ReceiveMegabitsPerSecond,
        SubscribersPerSecond,
    ];

    /// <summary>Counts of messages that were wrong.</summary>
    public static readonly IReadOnlyList<string> Faults = [Missing, Duplicated, Reordered, Damaged, Unstored];

    /// <summary>
    /// Figures that say how fast, and what they are compared with: none is told of a run that delivered wrong messages.
    /// </summary>
    public static readonly IReadOnlyList<string> Rates =
    [
        SendPerSecond, ConsumePerSecond, SendMBps, ConsumeMBps, DiskWriteMBps, Spread, RatioToLimit,
        FdatasyncsPerSecond, MessagesPerFdatasync, ReferenceValue, ReferenceP99, ReferenceRatio, ReadySeconds,
        FetchedRatio, ReadSeconds, ReadSecondsOfAll, CreateSeconds, ListSeconds, DescribeSeconds, GroupToManual,
        ConnectionsPerSecond, SendNetworkMBps, ConsumeNetworkMBps, ProcessDiskMBps,
        BareStreamMBps, BarePingPongPerSecond, OnewayToStream, AsyncToOneway, SyncToPingPong,
        .. Windows,
        ResumeSeconds, SendUsPerOperation, ConsumeUsPerOperation, ReferenceSend,
        .. Changes.SelectMany(change => Latency(Of(Rebalance, change))),
        .. Latency(Admin), RatioToFirst,
        .. Latency(Failover), BrokerCpuPerGB, FollowerCpuPerGB,
    ];

    /// <summary>Every figure, in the order in which it is written.</summary>
    public static readonly IReadOnlyList<string> All =
    [
        SendPerSecond, ConsumePerSecond, SendMBps, ConsumeMBps, DiskWriteMBps, Spread,
        .. Process(Broker), .. Process(Producer), .. Process(Consumer),
        Fdatasyncs, BytesWritten,
        .. Latency(AckLatency), .. Latency(EndToEndLatency),
        LimitMBps, RatioToLimit, Missing, Duplicated, Reordered, ReferenceValue,
        Damaged, Messages, ElapsedSeconds, FdatasyncsPerSecond, MessagesPerFdatasync, ReferenceP99,
        ReferenceRatio, ReadySeconds,
        LogBytes, ReplayBytes, LiveBytes, LogToLive, SettledToLive, SegmentsRemoved, SegmentsPacked, SettleSeconds,
        MaxDepth, RequestsPerMessage, ResidentGrowth,
        FetchedBytes, FetchedBytesOfAll, FetchedRatio, ReadSeconds, ReadSecondsOfAll,
        CreateSeconds, ListSeconds, DescribeSeconds, WatchCpuPercent, WatchResidentBytes,
        ReopenedResidentBytes, GroupToManual, Repeated,
        .. Changes.SelectMany(change => Latency(Of(Rebalance, change)).Append(Of(Of(Rebalance, change), Count))),
        IdleConnections, BytesPerConnection, ConnectionsPerSecond,
        SendNetworkMBps, ConsumeNetworkMBps, ProcessDiskMBps,
        BareStreamMBps, BarePingPongPerSecond, OnewayToStream, AsyncToOneway, SyncToPingPong,
        .. Windows,
        BlockedBatches, ResumeSeconds, OpenConnections, Unstored,
        SendUsPerOperation, ConsumeUsPerOperation, ReferenceSend,
        .. Latency(Admin), Of(Admin, Count), RatioToFirst, CoreToCoreNs,
        .. Latency(Failover), Of(Failover, Count), Epochs, SingleEpochs, BrokerCpuPerGB, FollowerCpuPerGB,
    ];

    public static string Of(string group, string name) => $"{group}.{name}";

    private static IEnumerable<string> Process(string role) =>
        new[] { CpuPercent, ResidentBytes, AllocatedBytesPerMessage }.Select(name => Of(role, name));

    private static IEnumerable<string> Latency(string group) => Percentiles.Select(each => Of(group, each.Name));
}
