using EQueue.MessageStore;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>What the metrics look at.</summary>
internal sealed record BrokerParts(
    QueueStore Store,
    TopicCatalogue Catalogue,
    GroupTable Groups,
    BacklogTable Backlogs,
    MemoryLedger Ledger,
    BrokerCounters Counters,
    AuditLog Audit,
    BrokerOptions Options,
    TimeProvider Time,
    ILogger Logger);
