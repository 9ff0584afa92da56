using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>What the metrics look at.</summary>
internal sealed record BrokerParts(
    ModuleContext Context, TopicCatalogue Catalogue, GroupTable Groups, BacklogTable Backlogs, AuditLog Audit)
{
    public QueueStore Store => Context.Store;
}
