using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The writer thread: hands what is staged to the system, in large writes, and publishes Written.</summary>
internal sealed partial class CommitLog
{
    /// <summary>One write call's most bytes: large enough to cost nothing per byte, small enough that readers see it
    /// soon.</summary>
    private const int LargestWrite = 1 << 20;

    private static readonly TimeSpan FullRetryInterval = TimeSpan.FromSeconds(1);

    private readonly WorkSignal _writerSignal = new();
    private Segment _writing;
    private WaiterQueue _writtenWaiters;
    private long _bytesWritten;
    private long _writes;
    private bool _writerDone;

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

    /// <summary>One round: everything staged by now.</summary>
    /// <returns>False when the log is closing and all is written, or faulted.</returns>
    private bool WriteStaged()
    {
        long staged;
        bool isClosing;
        lock (_lock)
        {
            staged = _staged;
            isClosing = _isClosing;
            _writtenWaiters.TakeAll(ref _writtenIncoming);
        }
        if (Fault is not null)
        {
            return false;
        }
        if (_written == staged)
        {
            // Only duplicates can wait for what is written already.
            _writtenWaiters.Release(staged);
            WakeFlusher();
            if (isClosing)
            {
                return false;
            }
            _writerSignal.Wait();
            return true;
        }
        while (_written < staged)
        {
            WritePiece(staged);
            if (_options.FlushPolicy == FlushPolicy.Async)
            {
                PublishVisible(_written);
            }
            _writtenWaiters.Release(_written);
            WakeFlusher();
        }
        return true;
    }

    private void WritePiece(long staged)
    {
        if (_writing.IsSealed && _written == _writing.EndPosition)
        {
            _writing = _writing.Next!;
        }
        if (_writing.PreparedPath is not null)
        {
            RetryWhileFull(() => BeginSegment(_writing));
        }
        long limit = _writing.IsSealed ? Math.Min(staged, _writing.EndPosition) : staged;
        ReadOnlySpan<byte> piece = _arena.From(_written, Math.Min(limit - _written, LargestWrite));
        try
        {
            _writing.File!.Write(piece, _writing.FileOffsetOf(_written));
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Full)
        {
            WriteWhenFreed(piece.Length, exception);
        }
        _writes++;
        _bytesWritten += piece.Length;
        Volatile.Write(ref _written, _written + piece.Length);
    }

    /// <summary>The disk is full although room was reserved: keep the bytes, refuse messages, write the same range
    /// until it works.</summary>
    private void WriteWhenFreed(int length, DiskException first)
    {
        EnterReadOnly(ReadOnlyReason.Write, first);
        RetryWhileFull(() => _writing.File!.Write(_arena.From(_written, length), _writing.FileOffsetOf(_written)));
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
