using System.Diagnostics;
using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The writer thread: hands what is staged to the system, in large writes, and publishes Written. While it
/// rests an appender may write the little that it has staged: who holds the write lock is the writer.</summary>
internal sealed partial class CommitLog
{
    /// <summary>Bytes after which a round ends with the request: large enough to cost nothing per byte, small enough
    /// that readers see them soon.</summary>
    private const int RoundBytes = 1 << 20;

    /// <summary>With sync flush a round of up to so many bytes is synced by the writer itself when the flusher rests:
    /// waking it takes longer than the next round would gain by being written meanwhile.</summary>
    private const int LargestOwnSync = 128 << 10;

    /// <summary>With async flush an appender writes a round of up to so many bytes itself when the writer
    /// rests.</summary>
    private const int LargestOwnWrite = 32 << 10;

    /// <summary>A write of an appender that took so long tells that the disk stalls: appenders leave writing to the
    /// writer then, for <see cref="RestAfterSlowWrite"/>.</summary>
    private static readonly TimeSpan SlowOwnWrite = TimeSpan.FromMilliseconds(20);

    private static readonly TimeSpan RestAfterSlowWrite = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan FullRetryInterval = TimeSpan.FromSeconds(1);

    private readonly WorkSignal _writerSignal = new();
    private readonly Lock _writeLock = new();
    private long _slowOwnWriteAt;
    private Segment _writing;
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
            while (WriteStaged() is var next && next != RoundNext.End)
            {
                if (next == RoundNext.Wait)
                    _writerSignal.Wait();
            }
        }
        finally
        {
            if (Fault is { } fault)
                _writtenLevel.Fail(fault);
            Volatile.Write(ref _writerDone, true);
            _flusherSignal.Raise();
        }
    }

    /// <summary>A failure is latched before the lock is given up: no thread writes behind it.</summary>
    private RoundNext WriteStaged()
    {
        lock (_writeLock)
        {
            try
            {
                return WriteRound();
            }
            catch (Exception exception)
            {
                Latch(exception);
                return RoundNext.End;
            }
        }
    }

    /// <summary>One round: what is staged by now, or the first of it up to the end of a request.</summary>
    private RoundNext WriteRound()
    {
        long end;
        bool isClosing;
        WaiterQueue incoming = default;
        lock (_lock)
        {
            end = TakeRound();
            isClosing = _isClosing;
            incoming.TakeAll(ref _writtenIncoming);
        }
        _writtenLevel.Add(ref incoming);
        if (Fault is not null)
            return RoundNext.End;
        if (_marks.Written == end)
        {
            // Only duplicates can wait for what is written already.
            _writtenLevel.Reach(0);
            WakeFlusher();
            return isClosing ? RoundNext.End : RoundNext.Wait;
        }
        long begin = _marks.Written;
        for (long position = begin; position < end;)
            position += WritePiece(position, end);
        PublishWritten(end);
        if (_options.FlushPolicy != FlushPolicy.Sync || end - begin > LargestOwnSync || !TryFlushHere())
            WakeFlusher();
        return RoundNext.Again;
    }

    private void WriteOrWakeWriter(bool mayWrite)
    {
        if (!mayWrite || !TryWriteHere())
            _writerSignal.Raise();
    }

    /// <summary>An appender's own round, which spares it the wait for the writer to wake up, and for the thread that
    /// sends the answer after that.</summary>
    /// <returns>False when the writer is at work or is needed: it must be woken.</returns>
    private bool TryWriteHere()
    {
        bool mayTry = _options.FlushPolicy == FlushPolicy.Async && _writerSignal.IsParked && !IsDiskSlow();
        if (!mayTry || !_writeLock.TryEnter())
            return false;
        long began = Stopwatch.GetTimestamp();
        try
        {
            return TryWriteSmallRound();
        }
        catch (Exception exception)
        {
            Latch(exception);
            _writtenLevel.Fail(Fault!);
            return true;
        }
        finally
        {
            if (Stopwatch.GetElapsedTime(began) >= SlowOwnWrite)
                Volatile.Write(ref _slowOwnWriteAt, Stopwatch.GetTimestamp());
            _writeLock.Exit();
        }
    }

    private bool IsDiskSlow()
    {
        long slowAt = Volatile.Read(ref _slowOwnWriteAt);
        return slowAt != 0 && Stopwatch.GetElapsedTime(slowAt) < RestAfterSlowWrite;
    }

    private bool TryWriteSmallRound()
    {
        long end;
        WaiterQueue incoming = default;
        lock (_lock)
        {
            bool isSmall = _roundEnds.Count == 0 && _marks.Staged - _marks.Written <= LargestOwnWrite;
            if (!isSmall || _isClosing || _fault is not null)
                return false;
            end = TakeRound();
            incoming.TakeAll(ref _writtenIncoming);
        }
        _writtenLevel.Add(ref incoming);
        if (_marks.Written < end && !TryWriteOnePiece(end))
            return false;
        PublishWritten(end);
        WakeFlusher();
        return true;
    }

    /// <summary>Writes up to there if that is one write into the segment under way, for which there is room.</summary>
    private bool TryWriteOnePiece(long end)
    {
        long length = end - _marks.Written;
        if (_writing.IsSealed || _writing.PreparedPath is not null)
            return false;
        ReadOnlySpan<byte> piece = _arena.From(_marks.Written, length);
        if (piece.Length < length)
            return false;
        try
        {
            Write(piece, _marks.Written);
            return true;
        }
        catch (Exception exception)
            when (exception is DiskException { Fault: DiskFault.Full } || ShortageWatch.IsShortage(exception))
        {
            // The writer meets it again, and waits.
            return false;
        }
    }

    /// <summary>All up to the end of a round is written. Not after each piece: the ring's end cuts entries, and what
    /// the flusher then calls durable would end inside one. Recovery could not tell its lost second half from
    /// rot.</summary>
    private void PublishWritten(long end)
    {
        _marks.Write(end);
        if (_lead is null)
            CommitWritten(end);
        NoteProgress();
    }

    /// <summary>Called under the lock after each request: remembers where a round may end.</summary>
    private void NoteRoundEnd()
    {
        if (_marks.Staged - _lastRoundEnd >= RoundBytes)
        {
            _roundEnds.Enqueue(_marks.Staged);
            _lastRoundEnd = _marks.Staged;
        }
    }

    private long TakeRound()
    {
        if (_roundEnds.TryDequeue(out long end))
            return end;
        return _lastRoundEnd = _marks.Staged;
    }

    /// <summary>Writes what lies together in the ring and in one segment.</summary>
    /// <returns>How many bytes.</returns>
    private int WritePiece(long position, long end)
    {
        if (_writing.IsSealed && position == _writing.EndPosition)
            _writing = _writing.Next!;
        if (_writing.PreparedPath is not null)
        {
            RetryWhileRefused(() => BeginSegment(_writing));
            Log.SegmentBegun(_logger, _writing.Path, _writing.BasePosition);
        }
        long limit = _writing.IsSealed ? Math.Min(end, _writing.EndPosition) : end;
        ReadOnlySpan<byte> piece = _arena.From(position, limit - position);
        try
        {
            Write(piece, position);
        }
        catch (DiskException exception) when (exception.Fault == DiskFault.Full)
        {
            EnterReadOnly(ReadOnlyReason.Write, exception);
            WriteWhenTaken(position, piece.Length);
        }
        catch (Exception exception) when (ShortageWatch.IsShortage(exception))
        {
            WriteWhenTaken(position, piece.Length);
        }
        return piece.Length;
    }

    private void Write(ReadOnlySpan<byte> piece, long position)
    {
        long begun = BeginTiming(_writeDurations);
        _stalls.BeginWrite();
        try
        {
            _writing.File!.Write(piece, _writing.FileOffsetOf(position));
        }
        finally
        {
            _stalls.EndWrite();
        }

        EndTiming(ref _writeDurations, begun);
        _writes++;
        _bytesWritten += piece.Length;
    }

    /// <summary>The disk is full although room was reserved, or the system has no memory for the call: keeps the
    /// bytes, writes the same range until it works.</summary>
    private void WriteWhenTaken(long position, int length) =>
        RetryWhileRefused(() => _writing.File!.Write(_arena.From(position, length), _writing.FileOffsetOf(position)));

    private void RetryWhileRefused(Action write)
    {
        while (true)
        {
            try
            {
                write();
                LeaveReadOnly(ReadOnlyReason.Write);
                _shortage.NoteEnd();
                return;
            }
            catch (Exception exception)
                when (ShortageWatch.IsShortage(exception) && !_stopping.IsCancellationRequested)
            {
                _shortage.Note(exception);
                _stopping.Token.WaitHandle.WaitOne(FullRetryInterval);
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
    /// <remarks>Called again after a failure anywhere in it.</remarks>
    private void BeginSegment(Segment segment)
    {
        if (segment.PreparedPath is null)
            return;
        WriteSegmentHeader(segment);
        segment.NeedsDirectorySync = true;
        _disk.Rename(segment.PreparedPath, segment.Path);
        segment.PreparedPath = null;
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
        _marks.Show(position);
        ShowTaken(position);
        TellWatchers(position);
        ReleaseRoomWaiters(force: false);
    }

    /// <summary>What the writer or the flusher does after a round.</summary>
    private enum RoundNext
    {
        /// <summary>Look again at once.</summary>
        Again,

        /// <summary>Nothing to do until the signal.</summary>
        Wait,

        /// <summary>The log is closing and all is written or durable, or it failed.</summary>
        End,
    }
}
