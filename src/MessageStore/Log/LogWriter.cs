using System.Diagnostics;

namespace EQueue.MessageStore;

/// <summary>The writer: hands what is staged to the system, in large writes, and moves Written.</summary>
/// <remarks>
/// Owns the write lock and what is done under it: the thread that holds it is the writer. That is the writer's own
/// thread, or, while that sleeps, an appender with the little that it has staged (<see cref="WriteOrWake"/>).
/// </remarks>
/// <param name="gate">The log's lock.</param>
/// <param name="policy">With sync flush the writer syncs small rounds itself.</param>
/// <param name="marks">Is told what is written.</param>
/// <param name="staging">Says where a round ends.</param>
/// <param name="incoming">Appends that wait for written.</param>
/// <param name="bytes">Writes them into the files.</param>
/// <param name="commits">Is told what is written as well.</param>
/// <param name="flusher">Syncs what is written.</param>
/// <param name="fault">The latch.</param>
/// <param name="signal">What its thread sleeps on.</param>
internal sealed class LogWriter(
    Lock gate,
    FlushPolicy policy,
    Watermarks marks,
    Staging staging,
    IncomingWaiters incoming,
    SegmentWriter bytes,
    CommitGate commits,
    LogFlusher flusher,
    LogFault fault,
    WorkSignal signal)
{
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

    private readonly Lock _writeLock = new();
    private long _slowOwnWriteAt;

    /// <summary>The writer's thread: returns when the log has ended.</summary>
    public void Run()
    {
        try
        {
            while (WriteStaged() is var next && next != RoundNext.End)
            {
                if (next == RoundNext.Wait)
                    signal.Wait();
            }
        }
        finally
        {
            if (fault.Reason is { } reason)
                commits.Written.Fail(reason);
            flusher.NoteWriterEnd();
        }
    }

    /// <summary>Something was staged: wakes the writer, or writes it here.</summary>
    /// <param name="mayWrite">Whether this thread may write.</param>
    public void WriteOrWake(bool mayWrite)
    {
        if (!mayWrite || !TryWriteHere())
            signal.Raise();
    }

    /// <summary>A failure is latched before the lock is given up: nothing is written behind it.</summary>
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
                fault.Latch(exception);
                return RoundNext.End;
            }
        }
    }

    /// <summary>One round: what is staged by now, or the first of it up to the end of a request.</summary>
    private RoundNext WriteRound()
    {
        long end;
        bool isClosing;
        WaiterQueue waiters;
        lock (gate)
        {
            end = staging.TakeRound();
            isClosing = fault.IsClosing;
            waiters = incoming.TakeWritten();
        }
        commits.Written.Add(ref waiters);
        if (fault.Reason is not null)
            return RoundNext.End;
        long begin = marks.Written;
        if (begin == end)
        {
            // Only duplicates can wait for what is written already.
            commits.Written.Reach(0);
            flusher.Wake();
            return isClosing ? RoundNext.End : RoundNext.Wait;
        }
        for (long position = begin; position < end;)
            position += bytes.WritePiece(position, end);
        NoteWritten(end);
        if (policy != FlushPolicy.Sync || end - begin > LargestOwnSync || !flusher.TryFlushHere())
            flusher.Wake();
        return RoundNext.Again;
    }

    /// <summary>An appender's own round, which spares it the wait for the writer to wake up, and for the thread that
    /// sends the answer after that.</summary>
    /// <returns>False when the writer is at work or is needed: it must be woken.</returns>
    private bool TryWriteHere()
    {
        bool mayTry = policy == FlushPolicy.Async && signal.IsParked && !IsDiskSlow();
        if (!mayTry || !_writeLock.TryEnter())
            return false;
        long began = Stopwatch.GetTimestamp();
        try
        {
            return TryWriteSmallRound();
        }
        catch (Exception exception)
        {
            fault.Latch(exception);
            commits.Written.Fail(fault.Reason!);
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
        long begin = marks.Written;
        long end;
        WaiterQueue waiters;
        lock (gate)
        {
            bool isSmall = !staging.HasFullRound && marks.Staged - begin <= LargestOwnWrite;
            if (!isSmall || fault.IsEnding)
                return false;
            end = staging.TakeRound();
            waiters = incoming.TakeWritten();
        }
        commits.Written.Add(ref waiters);
        if (begin < end && !bytes.TryWriteOnePiece(begin, end))
            return false;
        NoteWritten(end);
        flusher.Wake();
        return true;
    }

    /// <summary>All up to the end of a round is written. Not after each piece: the ring's end cuts entries, and what
    /// the flusher then calls durable would end inside one. Recovery could not tell its lost second half from
    /// rot.</summary>
    private void NoteWritten(long end)
    {
        marks.Write(end);
        commits.NoteWritten(end);
    }
}
