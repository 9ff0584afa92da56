using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>Whether every group that reads a topic is through with a queue that takes no messages any more.</summary>
/// <remarks>
/// A group reads the topic when it has committed in any queue of it or has a member that subscribes to it: it counts in
/// every queue, from the start where it has committed nothing. Of a broadcast group each instance with progress counts.
/// Made for one question; holds no state of its own.
/// </remarks>
internal sealed class QueueDrain
{
    private readonly List<(Group Group, string? Instance)> _readers = [];

    public QueueDrain(GroupTable groups, Topic topic)
    {
        HashSet<QueueId> queues = [.. topic.Queues];
        HashSet<Group> members = [.. groups.ReadersOf(topic.Name)];
        foreach (Group group in groups.Groups)
        {
            HashSet<string?> instances =
                [.. group.Progress.Where(key => queues.Contains(key.Queue.Id)).Select(key => key.Instance)];
            if (instances.Count == 0 && members.Contains(group) && IsShared(group))
                instances.Add(null);
            _readers.AddRange(instances.Select(instance => (group, instance)));
        }
    }

    /// <summary>Whether nothing is left to read. What is not read is not drained while it holds messages.</summary>
    /// <param name="queue">It takes no messages: what is staged is all that it will hold.</param>
    public bool IsDrained(in QueueView queue)
    {
        if (queue.Start.Value >= queue.StagedEnd.Value)
            return true;
        var key = new QueueKey(0, queue.Id);
        foreach ((Group group, string? instance) in _readers)
        {
            if (group.Find(instance, key) is not { } committed || committed.Next.Value < queue.StagedEnd.Value)
                return false;
        }

        return _readers.Count > 0;
    }

    private static bool IsShared(Group group)
    {
        lock (group.Gate)
            return group.Roster.Kind == GroupKind.Shared;
    }
}
