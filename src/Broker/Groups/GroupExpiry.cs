using EQueue.MessageStore;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>Every <see cref="GroupOptions.ExpiryInterval"/> removes the groups without members that gave no sign for
/// <see cref="GroupOptions.OffsetRetention"/>.</summary>
/// <remarks>
/// The last sign is the end of the last member or the youngest commit, by the store's time: while that is in doubt
/// (<see cref="QueueStore.MayExpire"/>) nothing is removed.
/// A round that fails is logged and the next one tries again.
/// </remarks>
internal sealed class GroupExpiry(
    QueueStore store,
    GroupTable groups,
    GroupRemover remover,
    GroupOptions options,
    BrokerCounters counters,
    TimeProvider time,
    ILogger logger) : PeriodicLoop(options.ExpiryInterval, time)
{
    protected override async Task RunOnceAsync(CancellationToken cancellationToken)
    {
        if (store.MayExpire(options.OffsetRetention))
            await ExpireAsync(cancellationToken);
    }

    private async Task ExpireAsync(CancellationToken cancellationToken)
    {
        long oldestMs = store.ExpiryNowMs - (long)options.OffsetRetention.TotalMilliseconds;
        foreach (Group group in groups.Groups)
        {
            lock (group.Gate)
            {
                if (group.IsGone || !IsExpired(group, oldestMs))
                    continue;
            }

            try
            {
                if (!await remover.RemoveAsync(group, null, one => IsExpired(one, oldestMs), cancellationToken))
                    continue;
                Interlocked.Increment(ref counters.GroupsExpired);
                logger.GroupExpired(group.Name, options.OffsetRetention);
            }
            catch (Exception exception) when (exception is not OperationCanceledException)
            {
                logger.GroupExpiryFailed(group.Name, exception);
                return;
            }
        }
    }

    /// <summary>Whether a group is to go. The caller holds its gate.</summary>
    private static bool IsExpired(Group group, long oldestMs) =>
        group.Roster.Members.Count == 0 && !group.Roster.IsSettling && LastSignMs(group) < oldestMs;

    private static long LastSignMs(Group group)
    {
        long last = group.Recorded?.EmptySinceMs ?? 0;
        foreach (ProgressKey key in group.Progress)
            last = Math.Max(last, group.Find(key.Instance, key.Queue)?.CommittedMs ?? 0);
        return last;
    }
}
