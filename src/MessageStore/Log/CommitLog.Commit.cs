using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>What counts: a single broker commits what it has written or synced itself, a leader what all replicas
/// have. Both go through here.</summary>
internal sealed partial class CommitLog
{
    private readonly Lead? _lead;
    private readonly CommitLevel _writtenLevel;
    private readonly CommitLevel _durableLevel;
    private readonly ProgressGate _progress = new();
    private bool _hasBegun;
    private volatile bool _isDeposed;

    /// <summary>Called when more is written or durable here; any thread, must be quick. For a leader.</summary>
    public Action? Progressed { get; set; }

    /// <inheritdoc cref="Watermarks.Settled"/>
    public long Settled => _marks.Settled;

    /// <summary>Begins the leader's epoch; returns the position behind its start when that is durable here.</summary>
    public LogPosition StartLeading()
    {
        if (_lead is null || _hasBegun)
            throw new InvalidOperationException("Only a log that was opened to lead begins to, and once.");
        return new LogPosition(StartEpoch());
    }

    /// <inheritdoc cref="QueueStore.StopLeading"/>
    public void StopLeading()
    {
        if (_lead is not { Epoch: var epoch })
            throw new InvalidOperationException("A log that was not opened to lead cannot stop to.");
        var fault = new EQueueException(
            ErrorCode.ShuttingDown, $"This node leads epoch {epoch} no longer: what is not answered may be stored.");
        _isDeposed = true;
        if (TryEnd(fault, out WaiterQueue waiters))
        {
            FailWaiters(ref waiters, fault);
            _writtenLevel.Fail(fault);
            _durableLevel.Fail(fault);
        }
    }

    /// <inheritdoc cref="QueueStore.SetCommitted"/>
    public void SetCommitted(LogPosition written, LogPosition durable)
    {
        if (_lead is null)
            throw new InvalidOperationException("A log that was not opened to lead commits by itself.");
        // Own durable first: it never is ahead of own written.
        if (durable.Value > Durable || written.Value > _marks.Written)
        {
            throw new ArgumentOutOfRangeException(
                nameof(written), $"Written {written}, durable {durable}: the log itself has {Watermarks}.");
        }
        long settled = Settled;
        CommitWritten(written.Value);
        CommitDurable(durable.Value);
        WakeKeeper(settled);
        _progress.Note();
    }

    /// <summary>Waits until everything staged by now is committed and durable here: the one way to a file that is
    /// derived from it, or to the removal of one.</summary>
    /// <returns>False when it is not after that time, or never will be.</returns>
    public bool TryMakeCommitted(TimeSpan timeout) => TryMakeCommitted(() => _marks.Staged, timeout);

    /// <summary>The same for all state staged by now: what starts and removals say is never taken back then.</summary>
    /// <returns>False when it is not after that time, or never will be.</returns>
    public bool TryMakeStateCommitted(TimeSpan timeout) =>
        TryMakeCommitted(() => _state.Queues.State.AppliedPosition, timeout);

    private bool TryMakeCommitted(Func<long> find, TimeSpan timeout)
    {
        long position;
        lock (_lock)
        {
            position = find();
            _marks.WantDurable(position);
        }
        _writerSignal.Raise();
        return _progress.TryWait(() => Fault is not null || Settled >= position, timeout) && Fault is null;
    }

    private long StartEpoch()
    {
        long end = BeginEpoch();
        _progress.TryWait(() => Fault is not null || Durable >= end, Timeout.InfiniteTimeSpan);
        if (Fault is { } fault)
            throw fault;
        Volatile.Write(ref _hasBegun, true);
        StartThread("EQueue log preparer", RunPreparer);
        return end;
    }

    private void CommitWritten(long position)
    {
        if (_options.FlushPolicy == FlushPolicy.Async && position > Visible)
            PublishVisible(position);
        _writtenLevel.Reach(position);
    }

    private void CommitDurable(long position)
    {
        if (_options.FlushPolicy == FlushPolicy.Sync && position > Visible)
            PublishVisible(position);
        _durableLevel.Reach(position);
    }

    /// <summary>Has the index of segments written that have become settled since.</summary>
    private void WakeKeeper(long before)
    {
        long now = Settled;
        Segment[] segments = Segments;
        for (int i = segments.Length - 1; i > 0 && segments[i].BasePosition > before; i--)
        {
            if (segments[i].BasePosition <= now)
            {
                BackgroundWork?.Invoke();
                return;
            }
        }
    }

    private void NoteProgress()
    {
        _progress.Note();
        Progressed?.Invoke();
    }

    /// <summary>The log has ended: what is not committed by now may still become so elsewhere, or not.</summary>
    private void FailUncommitted()
    {
        if (_lead is null)
            return;
        var ended = new EQueueException(
            ErrorCode.ShuttingDown, "The store was closed before this was committed: it may be stored.");
        _writtenLevel.Fail(ended);
        _durableLevel.Fail(ended);
    }

    /// <summary>For appends whose end is not awaited.</summary>
    private sealed class NobodyWaits : AppendWaiter
    {
        protected internal override void OnCompleted(Exception? fault)
        {
        }
    }
}
