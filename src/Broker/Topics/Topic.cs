using System.Collections.Frozen;

namespace EQueue.Broker;

/// <summary>
/// A topic that clients can use: its record and its queues, by number. Never changed; a change makes a new one.
/// </summary>
internal sealed class Topic(TopicRecord record, QueueId[] queues, TopicBacklog? backlog, TopicTraffic traffic)
{
    public TopicRecord Record { get; } = record;

    public QueueId[] Queues { get; } = queues;

    public string Name => Record.Name;

    public TopicId Id => Record.Id;

    /// <summary>Who counts and guards its backlog; null while it has no bound.</summary>
    public TopicBacklog? Backlog { get; } = backlog;

    /// <summary>What was given to its readers; the same before and after a change.</summary>
    public TopicTraffic Traffic { get; } = traffic;

    /// <summary>The queues that may not be read.</summary>
    public FrozenSet<QueueId> Unreadable { get; } = record.Limited.IsEmpty
        ? []
        : queues.Where((_, number) => !record.StateOf(number).HasFlag(QueueState.Readable)).ToFrozenSet();

    /// <summary>What routes say of a queue.</summary>
    public QueueState StateOf(int number) =>
        Record.StateOf(number) | (Backlog is { IsBounded: true } ? QueueState.Bounded : QueueState.None);

    /// <summary>The queues that take no messages.</summary>
    public IEnumerable<QueueId> Unwritable() =>
        Queues.Where((_, number) => !Record.StateOf(number).HasFlag(QueueState.Writable));

    /// <summary>Largest body, in bytes.</summary>
    public int MaxMessageBytes { get; } = record.Settings.MaxMessageBytes ?? int.MaxValue;
}
