using EQueue.MessageStore;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>What the metrics look at.</summary>
internal sealed record BrokerParts(
    QueueStore Store,
    TopicCatalogue Catalogue,
    GroupTable Groups,
    BacklogTable Backlogs,
    FetchHandler Fetch,
    BrokerCounters Counters,
    RemotingServer Server,
    BrokerOptions Options,
    TimeProvider Time,
    ILogger Logger);
