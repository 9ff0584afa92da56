using System.Diagnostics;

namespace EQueue.MessageStore;

/// <summary>The flusher thread: fdatasync, one at a time, while the next group gathers; publishes Durable.</summary>
internal sealed partial class CommitLog
{
    private readonly WorkSignal _flusherSignal = new();
    private Segment _flushing;
    private WaiterQueue _durableWaiters;
    private long _dirtySince;
    private bool _isFlushTimed;
    private long _syncs;
    private readonly CacheTrimmer _cache;

    private void RunFlusher()
    {
        try
        {
            while (FlushWritten())
            {
            }
        }
        catch (Exception exception)
        {
            Latch(exception);
        }
        finally
        {
            if (Fault is { } fault)
            {
                _durableWaiters.Fail(fault);
            }
        }
    }

    /// <summary>Called by the writer after a write: with async flush only the first write of an interval wakes the
    /// flusher.</summary>
    private void WakeFlusher()
    {
        // Written before, the flusher's wishes after: it writes and reads them in the other order, so one of the two
        // sees the other.
        Interlocked.MemoryBarrier();
        if (_options.FlushPolicy == FlushPolicy.Sync
            || Volatile.Read(ref _durableWanted)
            || !Volatile.Read(ref _isFlushTimed))
        {
            _flusherSignal.Raise();
        }
    }

    /// <summary>One round: waits until there is a reason to sync, syncs what is written by then.</summary>
    /// <returns>False when the writer has ended and all is durable, or faulted.</returns>
    private bool FlushWritten()
    {
        bool writerDone = Volatile.Read(ref _writerDone);
        bool isAskedFor;
        lock (_lock)
        {
            isAskedFor = _durableWanted;
            _durableWaiters.TakeAll(ref _durableIncoming);
            _durableWanted = false;
        }
        if (Fault is not null)
        {
            return false;
        }
        // Read after the waiters: whoever is among them is at most staged, and the writer raises again after writing
        // it.
        long written = Volatile.Read(ref _written);
        if (_durable < written)
        {
            if (!isAskedFor && !writerDone && _options.FlushPolicy == FlushPolicy.Async && _durableWaiters.IsEmpty
                && !IsIntervalOver())
            {
                return true;
            }
            SyncTo(written);
            Volatile.Write(ref _isFlushTimed, false);
            _dirtySince = 0;
            if (_options.FlushPolicy == FlushPolicy.Sync)
            {
                PublishVisible(written);
            }
            _durableWaiters.Release(written);
            return true;
        }
        _durableWaiters.Release(written);
        if (writerDone && Volatile.Read(ref _written) == _durable)
        {
            return false;
        }
        if (!_durableWaiters.IsEmpty)
        {
            // Someone waits for what is staged: the writer must wake this thread after the next write.
            Volatile.Write(ref _durableWanted, true);
            Interlocked.MemoryBarrier();
            if (Volatile.Read(ref _written) > _durable)
            {
                return true;
            }
        }
        _flusherSignal.Wait();
        return true;
    }

    /// <summary>Waits for the rest of the flush interval, which begins at the first write after a sync.</summary>
    private bool IsIntervalOver()
    {
        if (_dirtySince == 0)
        {
            _dirtySince = Stopwatch.GetTimestamp();
        }
        _isFlushTimed = true;
        TimeSpan left = _options.FlushInterval - Stopwatch.GetElapsedTime(_dirtySince);
        return left <= TimeSpan.Zero || !_flusherSignal.Wait(left);
    }

    private void SyncTo(long position)
    {
        bool hasSealed = false;
        while (true)
        {
            Segment segment = _flushing;
            bool isWhole = segment.IsSealed && segment.EndPosition <= position;
            if (!isWhole || segment.EndPosition > _durable)
            {
                if (segment.NeedsDirectorySync)
                {
                    _disk.SyncDirectory(_directory);
                    segment.NeedsDirectorySync = false;
                }
                segment.File!.Sync();
                _syncs++;
            }
            if (!isWhole || segment.EndPosition == position)
            {
                break;
            }
            _flushing = segment.Next!;
            hasSealed = true;
        }
        Volatile.Write(ref _durable, position);
        _cache.Advance(_flushing, position);
        if (hasSealed)
        {
            BackgroundWork?.Invoke();
        }
    }
}
