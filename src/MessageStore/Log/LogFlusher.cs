using System.Diagnostics;

namespace EQueue.MessageStore;

/// <summary>What the writer or the flusher does after a round.</summary>
internal enum RoundNext
{
    /// <summary>Look again at once.</summary>
    Again,

    /// <summary>Nothing to do until the signal.</summary>
    Wait,

    /// <summary>The log is closing and all is written or durable, or it failed.</summary>
    End,
}

/// <summary>The flusher: fdatasync, one at a time, while the next group gathers; moves Durable.</summary>
/// <remarks>
/// Owns the flush lock and what is done under it: the thread that holds it is the flusher. That is the flusher's own
/// thread, or the writer for a small round of a log with sync flush (<see cref="TryFlushHere"/>).
/// </remarks>
internal sealed class LogFlusher
{
    private readonly Lock _flushLock = new();
    private readonly Lock _gate;
    private readonly StoreOptions _options;
    private readonly Watermarks _marks;
    private readonly IncomingWaiters _incoming;
    private readonly CommitGate _commits;
    private readonly LogFolder _folder;
    private readonly LogFault _fault;
    private readonly WorkSignal _signal;
    private readonly StallWatch _stalls;
    private Segment _flushing;
    private long _dirtySince;
    private long _syncs;
    private bool _isWriterDone;

    /// <param name="gate">The log's lock.</param>
    /// <param name="options">Flush policy and interval.</param>
    /// <param name="marks">Is told what is durable.</param>
    /// <param name="incoming">Appends that wait for that.</param>
    /// <param name="commits">Is told as well.</param>
    /// <param name="folder">Is synced before anything in a new segment counts.</param>
    /// <param name="fault">The latch.</param>
    /// <param name="signal">What its thread sleeps on.</param>
    /// <param name="cache">Lets go of pages that are durable.</param>
    /// <param name="stalls">Watches the calls.</param>
    /// <param name="durations">Of the calls.</param>
    /// <param name="first">The segment that takes the appends.</param>
    public LogFlusher(
        Lock gate,
        StoreOptions options,
        Watermarks marks,
        IncomingWaiters incoming,
        CommitGate commits,
        LogFolder folder,
        LogFault fault,
        WorkSignal signal,
        CacheTrimmer cache,
        StallWatch stalls,
        CallDurations durations,
        Segment first)
    {
        (_gate, _options, _marks, _incoming, _commits) = (gate, options, marks, incoming, commits);
        (_folder, _fault, _signal, _stalls, _flushing) = (folder, fault, signal, stalls, first);
        (Cache, Durations) = (cache, durations);
    }

    /// <summary>Lets the system's page cache go of what is durable.</summary>
    public CacheTrimmer Cache { get; }

    /// <summary>How long its calls take.</summary>
    public CallDurations Durations { get; }

    /// <summary>Calls of fdatasync since the opening.</summary>
    public long Syncs => Volatile.Read(ref _syncs);

    /// <summary>The flusher's thread: returns when the log has ended.</summary>
    public void Run()
    {
        try
        {
            while (FlushWritten() is var next && next != RoundNext.End)
            {
                if (next == RoundNext.Wait)
                    _signal.Wait();
            }
        }
        finally
        {
            if (_fault.Reason is { } reason)
                _commits.Durable.Fail(reason);
        }
    }

    /// <summary>Called by the writer after a write: with async flush only the first write of an interval wakes the
    /// flusher.</summary>
    public void Wake()
    {
        if (_marks.IsFlusherNeeded() || _options.FlushPolicy == FlushPolicy.Sync)
            _signal.Raise();
    }

    /// <summary>The writer has ended: when all is durable, the flusher ends.</summary>
    public void NoteWriterEnd()
    {
        Volatile.Write(ref _isWriterDone, true);
        _signal.Raise();
    }

    /// <summary>The writer's own sync of what it has just written.</summary>
    /// <returns>False when the flusher is at work: it must be woken.</returns>
    public bool TryFlushHere()
    {
        if (!_flushLock.TryEnter())
            return false;
        try
        {
            if (_fault.Reason is not null)
                return false;
            TakeWaiters();
            SyncWritten(_marks.Written);
            return true;
        }
        catch (Exception exception)
        {
            _fault.Latch(exception);
            return false;
        }
        finally
        {
            _flushLock.Exit();
        }
    }

    /// <summary>A failure is latched before the lock is given up: the system tells a file's lost writes once, so
    /// another sync of the file would be told that they are durable.</summary>
    private RoundNext FlushWritten()
    {
        lock (_flushLock)
        {
            try
            {
                return FlushRound();
            }
            catch (Exception exception)
            {
                _fault.Latch(exception);
                return RoundNext.End;
            }
        }
    }

    /// <summary>One round: when there is a reason to sync, syncs what is written by then.</summary>
    private RoundNext FlushRound()
    {
        bool isWriterDone = Volatile.Read(ref _isWriterDone);
        TakeWaiters();
        if (_fault.Reason is not null)
            return RoundNext.End;
        // Read after the waiters: what they wait for is at most staged, and the writer raises again after writing it.
        long written = _marks.Written;
        if (_marks.Durable < written)
        {
            bool mayWait = !_marks.IsDurableWanted && !isWriterDone && _options.FlushPolicy == FlushPolicy.Async;
            if (mayWait && !IsIntervalOver())
                return RoundNext.Again;
            SyncWritten(written);
            _marks.EndInterval();
            _dirtySince = 0;
            return RoundNext.Again;
        }
        // Only duplicates can wait for what is durable already.
        _commits.Durable.Reach(0);
        return isWriterDone && _marks.Written == _marks.Durable ? RoundNext.End : RoundNext.Wait;
    }

    private void TakeWaiters()
    {
        WaiterQueue incoming;
        lock (_gate)
            incoming = _incoming.TakeDurable();
        _commits.Durable.Add(ref incoming);
    }

    /// <summary>Waits for the rest of the flush interval, which begins at the first write after a sync.</summary>
    private bool IsIntervalOver()
    {
        if (_dirtySince == 0)
            _dirtySince = Stopwatch.GetTimestamp();
        _marks.BeginInterval();
        TimeSpan left = _options.FlushInterval - Stopwatch.GetElapsedTime(_dirtySince);
        return left <= TimeSpan.Zero || !_signal.Wait(left);
    }

    private void SyncWritten(long written)
    {
        long settled = _marks.Settled;
        SyncTo(written);
        _commits.NoteDurable(written, settled);
    }

    private void SyncTo(long position)
    {
        while (true)
        {
            Segment segment = _flushing;
            bool isWhole = segment.IsSealed && segment.EndPosition <= position;
            if (!isWhole || segment.EndPosition > _marks.Durable)
            {
                if (segment.NeedsDirectorySync)
                {
                    _folder.Sync();
                    segment.NeedsDirectorySync = false;
                }
                SyncFile(segment);
            }
            if (!isWhole || segment.EndPosition == position)
                break;
            _flushing = segment.Next!;
        }
        _marks.Sync(position);
        Cache.Advance(_flushing, position);
    }

    private void SyncFile(Segment segment)
    {
        long begun = Durations.Begin();
        _stalls.BeginSync();
        try
        {
            segment.File!.Sync();
        }
        finally
        {
            _stalls.EndSync();
        }
        Durations.End(begun);
        _syncs++;
    }
}
