using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>Every <see cref="GroupOptions.ExpiryInterval"/> removes the groups without members that gave no sign for
/// <see cref="GroupOptions.OffsetRetention"/>.</summary>
/// <remarks>
/// The last sign is the end of the last member or the youngest commit, by the store's time: while that is in doubt
/// (<see cref="QueueStore.MayExpire"/>) nothing is removed.
/// A round that fails is logged and the next one tries again.
/// </remarks>
internal sealed class GroupExpiry(ModuleContext context, GroupTable groups, GroupRemover remover)
    : PeriodicLoop(context.Options.Groups.ExpiryInterval, context.Time)
{
    private readonly QueueStore _store = context.Store;
    private readonly TimeSpan _retention = context.Options.Groups.OffsetRetention;

    protected override async Task RunOnceAsync(CancellationToken cancellationToken)
    {
        if (_store.MayExpire(_retention))
            await ExpireAsync(cancellationToken);
    }

    private async Task ExpireAsync(CancellationToken cancellationToken)
    {
        long oldestMs = _store.ExpiryNowMs - (long)_retention.TotalMilliseconds;
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
                Interlocked.Increment(ref context.Counters.GroupsExpired);
                context.Logger.GroupExpired(group.Name, _retention);
            }
            catch (Exception exception) when (exception is not OperationCanceledException)
            {
                context.Logger.GroupExpiryFailed(group.Name, exception);
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
