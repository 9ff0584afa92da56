using System.ComponentModel;

namespace EQueue.Server.Http;

/// <summary>What the broker says of itself.</summary>
internal sealed record BrokerBody(
    string Version,
    [property: Description("The data directory, which keeps this id")] Guid StoreId,
    [property: Description("Rises with each start")] long Incarnation,
    [property: Description("Largest body of a message")] long MaxMessageBytes,
    [property: Description("Largest batch")] long MaxBatchBytes,
    [property: Description("The broker's clock")] DateTime ServerTime);

internal sealed record StatsBody(
    [property: Description("By name, as docs/protocol.md lists them")] IReadOnlyDictionary<string, long> Figures);

/// <summary>An event of the live figures.</summary>
internal sealed record LiveBody(
    DateTime Time,
    [property: Description("Since the last event; null in the first one")] LiveRates? PerSecond,
    LiveLevels Now,
    [property: Description("The first 100 groups, by name")] IReadOnlyList<LiveGroup> Groups);

internal sealed record LiveRates(
    [property: Description("Messages stored")] double Messages,
    [property: Description("Bytes written to the log")] double WrittenBytes,
    [property: Description("Bytes given to readers")] double FetchedBytes,
    double Requests,
    double RefusedRequests);

internal sealed record LiveLevels(
    long Connections,
    long Topics,
    long Queues,
    long Groups,
    long GroupMembers,
    long WaitingFetches,
    long WaitingSends,
    [property: Description("1 while messages are refused because the disk is nearly full")] long IsReadOnly,
    long FreeBytes);

internal sealed record LiveGroup(
    string Group,
    [property: Description("Messages not committed")] long Backlog);
