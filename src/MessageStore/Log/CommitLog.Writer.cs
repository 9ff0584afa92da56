using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The writer thread: hands what is staged to the system, in large writes, and publishes Written.</summary>
internal sealed partial class CommitLog
{
    /// <summary>Bytes after which a round ends with the request: large enough to cost nothing per byte, small enough
    /// that readers see them soon.</summary>
    private const int RoundBytes = 1 << 20;

    /// <summary>With sync flush a round of up to so many bytes is synced by the writer itself when the flusher rests:
    /// waking it takes longer than the next round would gain by being written meanwhile.</summary>
    private const int LargestOwnSync = 128 << 10;

    private static readonly TimeSpan FullRetryInterval = TimeSpan.FromSeconds(1);

    private readonly WorkSignal _writerSignal = new();
    private Segment _writing;
    private WaiterQueue _writtenWaiters;
    private long _bytesWritten;
    private long _writes;
    private bool _writerDone;

    /// <summary>Ends of requests, one per <see cref="RoundBytes"/> of what waits to be written; under the
    /// lock.</summary>
    private readonly Queue<long> _roundEnds = new();
    private long _lastRoundEnd;

    private void RunWriter()
    {
        try
        {
            while (WriteStaged())
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
                _writtenWaiters.Fail(fault);
            }
            Volatile.Write(ref _writerDone, true);
            _flusherSignal.Raise();
        }
    }

    /// <summary>One round: what is staged by now, or the first of it up to the end of a request.</summary>
    /// <returns>False when the log is closing and all is written, or faulted.</returns>
    private bool WriteStaged()
    {
        long end;
        bool isClosing;
        lock (_lock)
        {
            end = TakeRound();
            isClosing = _isClosing;
            _writtenWaiters.TakeAll(ref _writtenIncoming);
        }
        if (Fault is not null)
        {
            return false;
        }
        if (_written == end)
        {
            // Only duplicates can wait for what is written already.
            _writtenWaiters.Release(end);
            WakeFlusher();
            if (isClosing)
            {
                return false;
            }
            _writerSignal.Wait();
            return true;
        }
        long begin = _written;
        for (long position = begin; position < end;)
        {
            position += WritePiece(position, end);
        }
        // Not after each piece: the ring's end cuts entries, and what the flusher then calls durable would end inside
        // one. Recovery could not tell its lost second half from rot.
        Volatile.Write(ref _written, end);
        if (_options.FlushPolicy == FlushPolicy.Async)
        {
            PublishVisible(end);
        }
        _writtenWaiters.Release(end);
        if (_options.FlushPolicy != FlushPolicy.Sync || end - begin > LargestOwnSync || !TryFlushHere())
        {
            WakeFlusher();
        }
        return true;
    }

    /// <summary>Called under the lock after each request: remembers where a round may end.</summary>
    private void NoteRoundEnd()
    {
        if (_staged - _lastRoundEnd >= RoundBytes)
        {
            _roundEnds.Enqueue(_staged);
            _lastRoundEnd = _staged;
        }
    }

    private long TakeRound()
    {
        if (_roundEnds.TryDequeue(out long end))
        {
            return end;
        }
        return _lastRoundEnd = _staged;
    }

    /// <summary>Writes what lies together in the ring and in one segment.</summary>
    /// <returns>How many bytes.</returns>
    private int WritePiece(long position, long end)
    {
        if (_writing.IsSealed && position == _writing.EndPosition)
        {
            _writing = _writing.Next!;
        }
        if (_writing.PreparedPath is not null)
        {
            RetryWhileFull(() => BeginSegment(_writing));
        }
        long limit = _writing.IsSealed ? Math.Min(end, _writing.EndPosition) : end;
        ReadOnlySpan<byte> piece = _arena.From(position, limit - position);
        long begun = BeginTiming(_writeDurations);
        try
        {
            _writing.File!.Write(piece, _writing.FileOffsetOf(position));
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Full)
        {
            WriteWhenFreed(position, piece.Length, exception);
        }
        EndTiming(ref _writeDurations, begun);
        _writes++;
        _bytesWritten += piece.Length;
        return piece.Length;
    }

    /// <summary>The disk is full although room was reserved: keep the bytes, refuse messages, write the same range
    /// until it works.</summary>
    private void WriteWhenFreed(long position, int length, DiskException first)
    {
        EnterReadOnly(ReadOnlyReason.Write, first);
        RetryWhileFull(() => _writing.File!.Write(_arena.From(position, length), _writing.FileOffsetOf(position)));
    }

    private void RetryWhileFull(Action write)
    {
        while (true)
        {
            try
            {
                write();
                LeaveReadOnly(ReadOnlyReason.Write);
                return;
            }
            catch (DiskException exception)
                when (exception.Fault == DiskFault.Full && !_stopping.IsCancellationRequested)
            {
                EnterReadOnly(ReadOnlyReason.Write, exception);
                _stopping.Token.WaitHandle.WaitOne(FullRetryInterval);
            }
        }
    }

    /// <summary>Gives a file made ahead its header and its name. It counts once the flusher has synced it and its
    /// folder.</summary>
    private void BeginSegment(Segment segment)
    {
        WriteSegmentHeader(segment);
        segment.NeedsDirectorySync = true;
        _disk.Rename(segment.PreparedPath!, segment.Path);
        segment.PreparedPath = null;
        Log.SegmentBegun(_logger, segment.Path, segment.BasePosition);
    }

    private void WriteSegmentHeader(Segment segment)
    {
        var header = new SegmentHeader
        {
            StoreId = StoreId,
            LogId = LogId,
            BasePosition = new LogPosition(segment.BasePosition),
            Epoch = Epoch,
            CreatedMs = segment.CreatedTimeMs,
            Capacity = segment.Capacity,
        };
        Span<byte> bytes = stackalloc byte[SegmentHeader.Length];
        header.Write(bytes);
        segment.File!.Write(bytes, 0);
    }

    /// <summary>Readers may see up to here; those who wait for it are told.</summary>
    private void PublishVisible(long position)
    {
        Volatile.Write(ref _visible, position);
        TellWatchers(position);
        ReleaseRoomWaiters(force: false);
    }
}
