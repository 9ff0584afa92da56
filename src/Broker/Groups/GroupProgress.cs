using EQueue.MessageStore;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>The progress of groups against what the log holds (docs/history.md).</summary>
internal static class GroupProgress
{
    /// <summary>Puts progress beyond the end of its queue back to the end: damage took the messages before it, and
    /// their offsets are given again, to messages that the group has not seen. Before the broker serves.</summary>
    public static async Task MendAsync(QueueStore store, StoredGroups state, ILogger logger)
    {
        foreach ((GroupOffsetKey key, GroupOffset offset) in state.Offsets.ToArray())
        {
            if (!store.TryGetQueue(key.Queue.Id, out QueueView queue) || offset.Next <= queue.StagedEnd)
                continue;
            logger.ProgressPutBack(key.Group, key.Queue.Id.Value, offset.Next.Value, queue.StagedEnd.Value);
            StateEntry entry = (offset with { Next = queue.StagedEnd, RecordEpoch = -1 }).ToEntry(key);
            await store.AppendStateAsync([entry], CancellationToken.None);
        }
    }
}
