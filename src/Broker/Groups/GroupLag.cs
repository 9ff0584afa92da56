using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>How far a group is behind in a queue: in messages of all tags, and in time.</summary>
internal static class GroupLag
{
    /// <summary>The first message that is not committed, within what the queue has.</summary>
    public static QueueOffset FindNext(in QueueView queue, QueueOffset? committed) =>
        new(Math.Clamp(committed?.Value ?? queue.Start.Value, queue.Start.Value, queue.End.Value));

    public static long Count(in QueueView queue, QueueOffset? committed) =>
        queue.End.Value - FindNext(queue, committed).Value;

    /// <summary>Age in ms of the first message that is not committed; 0 when there is none, -1 when it is not
    /// known.</summary>
    public static async ValueTask<long> FindAgeMsAsync(
        QueueStore store, QueueView queue, QueueOffset? committed, long nowMs, CancellationToken cancellationToken)
    {
        if (Count(queue, committed) == 0)
            return 0;
        try
        {
            long? storedMs = await store.FindStoredTimeAsync(queue.Id, FindNext(queue, committed), cancellationToken);
            return storedMs is { } stored ? Math.Max(0, nowMs - stored) : -1;
        }
        catch (Exception exception) when (exception is EQueueException or DiskException or StoreFormatException)
        {
            return -1;
        }
    }
}
