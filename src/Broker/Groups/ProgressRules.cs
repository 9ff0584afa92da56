namespace EQueue.Broker;

/// <summary>Whether there is room for more progress: of one group, and of all together.</summary>
internal sealed class ProgressRules(StoredGroups state, MemoryLedger ledger, LimitOptions limits)
{
    /// <summary>What a change adds to what the log holds; below 0: what it frees.</summary>
    public long GrowthOf(in GroupOffsetKey key, GroupOffset? next) =>
        ProgressUse.SizeOf(key, next) - ProgressUse.SizeOf(key, state.FindOffset(key));

    /// <summary>Lets a change pass that takes no more than there is; one that takes nothing more always.</summary>
    /// <exception cref="EQueueException">LimitReached, naming the setting.</exception>
    public void CheckRoom(string group, long growth)
    {
        if (growth <= 0)
            return;
        long own = state.Use.BytesOf(group);
        if (own + growth > limits.MaxProgressBytesPerGroup)
        {
            throw new EQueueException(
                ErrorCode.LimitReached,
                $"The progress of group '{group}' takes {own} of {limits.MaxProgressBytesPerGroup} bytes of memory "
                + $"(Limits:MaxProgressBytesPerGroup); {growth} more do not fit.")
            {
                RetryAfter = MemoryPool.RetryAfter,
            };
        }

        if (!ledger.Progress.HasRoom(growth))
            throw ledger.Progress.Full($"{growth} bytes of progress of group '{group}' are not stored");
    }
}
