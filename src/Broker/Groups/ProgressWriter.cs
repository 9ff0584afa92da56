using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>Changes the progress of groups that have no members: resets and removals, each one atomic batch.</summary>
/// <remarks>Thread-safe. Decided under the group's gate, in the order in which it enters the log.</remarks>
internal sealed class ProgressWriter(QueueStore store, HeartbeatHandler heartbeats, BacklogTable backlogs)
{
    private const int MaxNamed = 5;

    private static readonly TimeSpan RetryAfter = TimeSpan.FromSeconds(1);

    /// <summary>Stores what is decided under the group's gate; completes when it is visible.</summary>
    /// <param name="group">Whose progress.</param>
    /// <param name="decide">Called under the gate, again when the store had no room; null = nothing to store.</param>
    /// <param name="cancellationToken">Ends the wait for room.</param>
    /// <returns>False when the group is gone: look it up again.</returns>
    /// <exception cref="EQueueException">StoreFaulted, ShuttingDown, and what <paramref name="decide"/>
    /// throws.</exception>
    public async Task<bool> WriteAsync(
        Group group, Func<IReadOnlyList<ProgressChange>?> decide, CancellationToken cancellationToken)
    {
        while (true)
        {
            if (!TryWrite(group, decide, out Waiter? waiter))
                return false;
            if (waiter is null)
                return true;
            if (waiter.IsAppended)
            {
                await waiter.Task;
                return true;
            }

            await store.WaitForRoomAsync(cancellationToken);
        }
    }

    /// <summary>Throws unless only the caller may change the group's progress. The caller holds its
    /// gate.</summary>
    /// <exception cref="EQueueException">GroupBusy, naming the members.</exception>
    public static void CheckFree(Group group)
    {
        GroupRoster roster = group.Roster;
        if (roster.IsSettling)
            throw Busy($"Group '{group.Name}' waits for the members it had before the broker's start.");

        if (roster.Members.Count > 0)
        {
            string names = string.Join(", ", roster.Members.Take(MaxNamed).Select(member => member.Client));
            string more = roster.Members.Count > MaxNamed ? ", ..." : "";
            throw Busy($"Group '{group.Name}' has {roster.Members.Count} live members: {names}{more}.");
        }
    }

    private static EQueueException Busy(string message) =>
        new(ErrorCode.GroupBusy, message) { RetryAfter = RetryAfter };

    /// <returns>False when the group is gone; a waiter when there is something to store.</returns>
    private bool TryWrite(Group group, Func<IReadOnlyList<ProgressChange>?> decide, out Waiter? waiter)
    {
        waiter = null;
        lock (group.Gate)
        {
            if (group.IsGone)
                return false;
            if (decide() is not { } changes)
                return true;
            waiter = new Waiter(group, changes, heartbeats) { Commit = group.LastCommit + 1 };
            // The waiter may be called before the append returns; it asks for the gate on another thread.
            if (store.AppendState([.. changes.Select(change => change.ToEntry(group.Name))], waiter)
                != AppendStatus.Accepted)
            {
                return true;
            }

            waiter.IsAppended = true;
            group.LastCommit++;
            foreach (ProgressChange change in changes)
            {
                if (change.Key is { } key)
                {
                    group.Roster.BeginCommit(key.Queue);
                    string name = ProgressName.Of(group.Name, key.Instance);
                    backlogs.OnProgress(name, group.Recorded is not null, key.Queue.Id, change.Offset?.Next);
                }
                else
                {
                    group.Recorded = null;
                }
            }

            return true;
        }
    }

    /// <summary>A batch on its way into the log. Its task ends when the group has heard of it.</summary>
    private sealed class Waiter(Group group, IReadOnlyList<ProgressChange> changes, HeartbeatHandler heartbeats)
        : AppendWaiter, IThreadPoolWorkItem
    {
        private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task Task => _done.Task;

        public long Commit { get; init; }

        public bool IsAppended { get; set; }

        void IThreadPoolWorkItem.Execute()
        {
            try
            {
                heartbeats.OnCommitVisible(
                    group, changes.Where(change => change.Key is not null).Select(change => change.Key!.Value.Queue));
                _done.TrySetResult();
            }
            catch (Exception exception)
            {
                _done.TrySetException(exception);
            }
        }

        protected override void OnCompleted(Exception? fault)
        {
            if (fault is not null)
            {
                _done.TrySetException(fault);
                return;
            }

            foreach (ProgressChange change in changes)
            {
                if (change.Key is not { } key)
                    continue;
                if (change.Offset is { } offset)
                    group.Publish(key.Instance, key.Queue, offset, Commit);
                else
                    group.Forget(key);
            }

            ThreadPool.UnsafeQueueUserWorkItem(this, preferLocal: false);
        }
    }
}

/// <summary>One change of a group's progress.</summary>
/// <param name="Key">Whose, and in which queue; null = the record of the group itself, which is removed.</param>
/// <param name="Offset">The new progress; null = it is removed.</param>
internal readonly record struct ProgressChange(ProgressKey? Key, GroupOffset? Offset)
{
    public StateEntry ToEntry(string group)
    {
        if (Key is not { } key)
            return GroupRecord.Removed(group);
        var name = new GroupOffsetKey(ProgressName.Of(group, key.Instance), key.Queue);
        return Offset is { } offset ? offset.ToEntry(name) : GroupOffset.Removed(name);
    }
}
