namespace EQueue.Broker;

/// <summary>What groups have committed, as the bound of a topic asks for it.</summary>
internal interface ICommittedProgress
{
    /// <summary>Gives a backlog the progress of each group in some queues, each under the gate of its group: no commit
    /// comes between.</summary>
    /// <param name="queues">The topic's.</param>
    /// <param name="backlog">Takes it through <see cref="TopicBacklog.Commit"/>.</param>
    void GiveTo(IReadOnlySet<QueueId> queues, TopicBacklog backlog);
}
