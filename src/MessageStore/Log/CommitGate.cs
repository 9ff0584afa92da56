using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>What counts: a single broker commits what it has written or synced itself, a leader what all replicas
/// have. Both pass here, and so does all that is derived from the log or removed by it.</summary>
/// <remarks>
/// Owns the two levels at which appends are acknowledged, and moves Visible. Called by the thread that has written or
/// synced, in its lock, or, for a leader, by the one that tells what is committed; each is one thread at a time.
/// </remarks>
/// <param name="gate">The log's lock.</param>
/// <param name="policy">At which level messages become visible.</param>
/// <param name="isLeading">Whether others say what is committed.</param>
/// <param name="marks">How far the log has come.</param>
/// <param name="queues">Those removed, or whose start has moved, are shown so once that is visible.</param>
/// <param name="segments">Those that become settled get their index.</param>
/// <param name="watches">Readers that wait.</param>
/// <param name="room">Appends that wait.</param>
/// <param name="signals">The keeper's, the writer's, and of those that wait for progress.</param>
/// <param name="fault">Nothing is committed any more when the log has failed.</param>
internal sealed class CommitGate(
    Lock gate,
    FlushPolicy policy,
    bool isLeading,
    Watermarks marks,
    QueueTable queues,
    SegmentChain segments,
    QueueWatches watches,
    AppendRoom room,
    LogSignals signals,
    LogFault fault)
{
    /// <summary>Appends that are acknowledged when written, by all replicas if there are any.</summary>
    public CommitLevel Written { get; } = new(marks.Visible);

    /// <summary>Appends that are acknowledged when durable, at all replicas if there are any.</summary>
    public CommitLevel Durable { get; } = new(marks.Visible);

    /// <summary>Called when more is written or durable here; any thread, must be quick. For a leader.</summary>
    public Action? Progressed { get; set; }

    /// <summary>All up to here is written by this log.</summary>
    public void NoteWritten(long position)
    {
        if (!isLeading)
            CommitWritten(position);
        NoteProgress();
    }

    /// <summary>All up to here is durable in this log.</summary>
    /// <param name="position">What is durable now.</param>
    /// <param name="settled">What was settled before.</param>
    public void NoteDurable(long position, long settled)
    {
        if (!isLeading)
            CommitDurable(position);
        WakeKeeper(settled);
        NoteProgress();
    }

    /// <inheritdoc cref="QueueStore.SetCommitted"/>
    public void SetCommitted(LogPosition written, LogPosition durable)
    {
        if (!isLeading)
            throw new InvalidOperationException("A log that was not opened to lead commits by itself.");
        // Own durable first: it never is ahead of own written.
        if (durable.Value > marks.Durable || written.Value > marks.Written)
        {
            throw new ArgumentOutOfRangeException(
                nameof(written),
                $"Written {written}, durable {durable}: the log itself has {marks.Written} and {marks.Durable}.");
        }
        long settled = marks.Settled;
        CommitWritten(written.Value);
        CommitDurable(durable.Value);
        WakeKeeper(settled);
        signals.Progress.Note();
    }

    /// <summary>Waits until everything staged by now is committed and durable here: the one way to a file that is
    /// derived from it, or to the removal of one.</summary>
    /// <returns>False when it is not after that time, or never will be.</returns>
    public bool TryMakeCommitted(TimeSpan timeout)
    {
        long position;
        lock (gate)
        {
            position = marks.Staged;
            marks.WantDurable(position);
        }
        return TryAwait(position, timeout);
    }

    /// <summary>The same for all state staged by now: what starts and removals say is never taken back then.</summary>
    /// <returns>False when it is not after that time, or never will be.</returns>
    public bool TryMakeStateCommitted(TimeSpan timeout)
    {
        long position;
        lock (gate)
        {
            position = queues.State.AppliedPosition;
            marks.WantDurable(position);
        }
        return TryAwait(position, timeout);
    }

    /// <summary>Waits until so much is durable here; for the start of an epoch, which nothing may pass.</summary>
    /// <exception cref="EQueueException">The log has failed.</exception>
    public void AwaitDurable(long position)
    {
        signals.Writer.Raise();
        signals.Progress.TryWait(
            () => fault.Reason is not null || marks.Durable >= position, Timeout.InfiniteTimeSpan);
        if (fault.Reason is { } reason)
            throw reason;
    }

    /// <summary>The log has ended: what is not committed by now may still become so elsewhere, or not.</summary>
    public void FailUncommitted(Exception reason)
    {
        Written.Fail(reason);
        Durable.Fail(reason);
    }

    private bool TryAwait(long position, TimeSpan timeout)
    {
        signals.Writer.Raise();
        return signals.Progress.TryWait(() => fault.Reason is not null || marks.Settled >= position, timeout)
            && fault.Reason is null;
    }

    private void CommitWritten(long position)
    {
        if (policy == FlushPolicy.Async && position > marks.Visible)
            Show(position);
        Written.Reach(position);
    }

    private void CommitDurable(long position)
    {
        if (policy == FlushPolicy.Sync && position > marks.Visible)
            Show(position);
        Durable.Reach(position);
    }

    /// <summary>Readers may see up to here; those that wait for it are told.</summary>
    private void Show(long position)
    {
        marks.Show(position);
        if (queues.HasTaken(position))
        {
            lock (gate)
                queues.Settle(position);
        }
        watches.Tell(position);
        room.Note();
    }

    /// <summary>Has the index of segments written that have become settled since.</summary>
    private void WakeKeeper(long before)
    {
        long now = marks.Settled;
        Segment[] all = segments.All;
        for (int i = all.Length - 1; i > 0 && all[i].BasePosition > before; i--)
        {
            if (all[i].BasePosition <= now)
            {
                signals.Keeper.Raise();
                return;
            }
        }
    }

    private void NoteProgress()
    {
        signals.Progress.Note();
        Progressed?.Invoke();
    }
}
