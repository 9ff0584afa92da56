using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>
/// A topic that clients can use: its record and its queues, by number. Never changed; a change makes a new one.
/// </summary>
internal sealed class Topic(TopicRecord record, QueueId[] queues, TopicBacklog? backlog)
{
    public TopicRecord Record { get; } = record;

    public QueueId[] Queues { get; } = queues;

    public string Name => Record.Name;

    public TopicId Id => Record.Id;

    /// <summary>Who counts and guards its backlog; null while it has no bound.</summary>
    public TopicBacklog? Backlog { get; } = backlog;

    /// <summary>What routes say of its queues.</summary>
    public QueueState QueueState => Backlog is { IsBounded: true }
        ? QueueState.Writable | QueueState.Readable | QueueState.Bounded
        : QueueState.Writable | QueueState.Readable;

    /// <summary>Largest body, in bytes.</summary>
    public int MaxMessageBytes { get; } = record.Settings.MaxMessageBytes ?? int.MaxValue;
}
