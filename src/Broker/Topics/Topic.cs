using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>
/// A topic that clients can use: its record and its queues, by number. Never changed; a change makes a new one.
/// </summary>
internal sealed class Topic(TopicRecord record, QueueId[] queues)
{
    public TopicRecord Record { get; } = record;

    public QueueId[] Queues { get; } = queues;

    public string Name => Record.Name;

    public TopicId Id => Record.Id;

    /// <summary>Largest body, in bytes.</summary>
    public int MaxMessageBytes { get; } = record.Settings.MaxMessageBytes ?? int.MaxValue;
}
