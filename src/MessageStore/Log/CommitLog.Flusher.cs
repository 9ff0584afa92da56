using System.Diagnostics;

namespace EQueue.MessageStore;

/// <summary>The flusher thread: fdatasync, one at a time, while the next group gathers; publishes Durable. Small rounds
/// of a log with sync flush the writer syncs itself: who holds the flush lock is the flusher.</summary>
internal sealed partial class CommitLog
{
    private readonly WorkSignal _flusherSignal = new();
    private readonly Lock _flushLock = new();
    private readonly Lock _folderLock = new();
    private Segment _flushing;
    private long _dirtySince;
    private long _syncs;
    private readonly CacheTrimmer _cache;

    /// <summary>Notes how far a reader has read from disk: what comes next is wanted soon.</summary>
    public void NoteRead(long position) => _cache.NoteRead(position);

    private void RunFlusher()
    {
        try
        {
            while (FlushWritten() is var next && next != RoundNext.End)
            {
                if (next == RoundNext.Wait)
                    _flusherSignal.Wait();
            }
        }
        finally
        {
            if (Fault is { } fault)
                _durableLevel.Fail(fault);
        }
    }

    /// <summary>Called by the writer after a write: with async flush only the first write of an interval wakes the
    /// flusher.</summary>
    private void WakeFlusher()
    {
        if (_marks.IsFlusherNeeded() || _options.FlushPolicy == FlushPolicy.Sync)
            _flusherSignal.Raise();
    }

    /// <summary>The writer's own sync of what it has just written.</summary>
    /// <returns>False when the flusher is at work: it must be woken.</returns>
    private bool TryFlushHere()
    {
        if (!_flushLock.TryEnter())
            return false;
        try
        {
            if (Fault is not null)
                return false;
            TakeDurableWaiters();
            SyncWritten(_marks.Written);
            return true;
        }
        catch (Exception exception)
        {
            Latch(exception);
            return false;
        }
        finally
        {
            _flushLock.Exit();
        }
    }

    private void TakeDurableWaiters()
    {
        WaiterQueue incoming = default;
        lock (_lock)
            incoming.TakeAll(ref _durableIncoming);
        _durableLevel.Add(ref incoming);
    }

    private void SyncWritten(long written)
    {
        long settled = Settled;
        SyncTo(written);
        if (_lead is null)
            CommitDurable(written);
        WakeKeeper(settled);
        NoteProgress();
    }

    /// <summary>A failure is latched before the lock is given up: the system tells a file's lost writes once, so
    /// a thread that synced the file again would be told that they are durable.</summary>
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
                Latch(exception);
                return RoundNext.End;
            }
        }
    }

    /// <summary>One round: when there is a reason to sync, syncs what is written by then.</summary>
    private RoundNext FlushRound()
    {
        bool writerDone = Volatile.Read(ref _writerDone);
        TakeDurableWaiters();
        if (Fault is not null)
            return RoundNext.End;
        // Read after the waiters: those among them are at most staged, and the writer raises again after writing
        // it.
        long written = _marks.Written;
        if (_marks.Durable < written)
        {
            bool mayWait = !_marks.IsDurableWanted && !writerDone && _options.FlushPolicy == FlushPolicy.Async;
            if (mayWait && !IsIntervalOver())
                return RoundNext.Again;
            SyncWritten(written);
            _marks.EndInterval();
            _dirtySince = 0;
            return RoundNext.Again;
        }
        // Only duplicates can wait for what is durable already.
        _durableLevel.Reach(0);
        return writerDone && _marks.Written == _marks.Durable ? RoundNext.End : RoundNext.Wait;
    }

    /// <summary>Waits for the rest of the flush interval, which begins at the first write after a sync.</summary>
    private bool IsIntervalOver()
    {
        if (_dirtySince == 0)
            _dirtySince = Stopwatch.GetTimestamp();
        _marks.BeginInterval();
        TimeSpan left = _options.FlushInterval - Stopwatch.GetElapsedTime(_dirtySince);
        return left <= TimeSpan.Zero || !_flusherSignal.Wait(left);
    }

    /// <summary>Syncs the log's folder, for everyone who works in it. A failure is latched before anyone else may sync
    /// it: names that it lost are told once. A folder that cannot be opened for want of a descriptor is not synced yet:
    /// that waits.</summary>
    public void SyncFolder()
    {
        lock (_folderLock)
        {
            while (!TrySyncFolder())
                _stopping.Token.WaitHandle.WaitOne(FullRetryInterval);
        }
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
                    SyncFolder();
                    segment.NeedsDirectorySync = false;
                }
                long begun = BeginTiming(_syncDurations);
                _stalls.BeginSync();
                try
                {
                    segment.File!.Sync();
                }
                finally
                {
                    _stalls.EndSync();
                }

                EndTiming(ref _syncDurations, begun);
                _syncs++;
            }
            if (!isWhole || segment.EndPosition == position)
                break;
            _flushing = segment.Next!;
        }
        _marks.Sync(position);
        _cache.Advance(_flushing, position);
    }

    /// <returns>False when it is to be tried again.</returns>
    private bool TrySyncFolder()
    {
        if (Fault is { } fault)
            throw fault;
        try
        {
            _disk.SyncDirectory(_directory);
            _shortage.NoteEnd();
            return true;
        }
        catch (Exception exception)
            when (ShortageWatch.IsShortage(exception) && !_stopping.IsCancellationRequested)
        {
            _shortage.Note(exception);
            return false;
        }
        catch (DiskException exception) when (exception.Fault != DiskFault.Full)
        {
            Latch(exception);
            throw;
        }
    }
}
