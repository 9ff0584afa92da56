using System.Diagnostics;

namespace EQueue.MessageStore;

/// <summary>A read that may block. Runs on one of <see cref="DiskThreads"/>; exactly one of the calls comes.</summary>
internal abstract class DiskWork
{
    /// <summary>After it has run: the bytes that it read for its caller.</summary>
    public long Bytes { get; protected set; }

    /// <summary>Where it reads, as far as known: work is done in the order of positions.</summary>
    public required long Position { get; init; }

    public abstract void Run();

    /// <summary>What is left to do when its waiter has been notified. Must not throw.</summary>
    public virtual void TidyUp()
    {
    }

    public abstract void Refuse(Exception reason);
}

/// <summary>
/// The store's own threads for cold reads, so that no reader of last week blocks a thread of the pool or the log.
/// Waiting reads are served by rising position, around and around: the disk sees one sweep, no read waits longer than
/// two.
/// </summary>
/// <remarks>
/// The threads start with the first read. At the bound of waiting reads the answer is LimitReached. While messages are
/// appended, what is read beyond the budget of a moment delays the reads that follow: consumers that catch up leave
/// something of disk and processors to those who keep up. The budget is at least twice what is appended, for no reader
/// catches up with less.
/// </remarks>
/// <param name="count">Threads.</param>
/// <param name="bytesPerSecond">The least budget of all of them beside appends.</param>
/// <param name="appendedBytes">Bytes of messages appended since the opening.</param>
internal sealed class DiskThreads(int count, long bytesPerSecond, Func<long> appendedBytes)
{
    private const int BudgetToAppends = 2;

    /// <summary>So long after an append the budget still holds.</summary>
    private static readonly TimeSpan AppendPause = TimeSpan.FromSeconds(1);

    /// <summary>What is appended in a second is measured over at least so long.</summary>
    private static readonly TimeSpan RatePeriod = TimeSpan.FromMilliseconds(250);

    /// <summary>Shorter delays are saved up: a thread that sleeps for less is woken too late anyway.</summary>
    private static readonly TimeSpan ShortestDelay = TimeSpan.FromMilliseconds(2);

    private const int MaxWaiting = 10_000;

    private readonly object _gate = new();
    private SortedDictionary<(long Position, long Number), DiskWork> _thisSweep = [];
    private SortedDictionary<(long Position, long Number), DiskWork> _nextSweep = [];
    private readonly List<Thread> _threads = [];
    private long _numbers;
    private long _sweep;
    private bool _isStopping;
    private long _paidUntil;
    private long _appended = -1;
    private long _appendedAt;
    private long _sampled;
    private long _sampledAt;
    private double _appendedPerSecond;
    private double _budget = bytesPerSecond;

    /// <summary>The budget of the last read, bytes a second; infinite without appends.</summary>
    public double Budget => Volatile.Read(ref _budget);

    public void Add(DiskWork work)
    {
        lock (_gate)
        {
            ObjectDisposedException.ThrowIf(_isStopping, this);
            if (_thisSweep.Count + _nextSweep.Count >= MaxWaiting)
            {
                throw new EQueueException(
                    ErrorCode.LimitReached,
                    $"{MaxWaiting} reads wait for the disk, the most that may: a fixed limit.");
            }
            (work.Position >= _sweep ? _thisSweep : _nextSweep).Add((work.Position, _numbers++), work);
            if (_threads.Count < count)
            {
                var thread = new Thread(RunThread) { IsBackground = true, Name = "EQueue log reader" };
                _threads.Add(thread);
                thread.Start();
            }
            Monitor.Pulse(_gate);
        }
    }

    /// <summary>Refuses what waits and returns when what runs has ended.</summary>
    public void Stop()
    {
        List<DiskWork> refused;
        List<Thread> threads;
        lock (_gate)
        {
            _isStopping = true;
            refused = [.. _thisSweep.Values, .. _nextSweep.Values];
            _thisSweep.Clear();
            _nextSweep.Clear();
            threads = [.. _threads];
            Monitor.PulseAll(_gate);
        }
        foreach (DiskWork work in refused)
            work.Refuse(new EQueueException(ErrorCode.ShuttingDown));
        foreach (Thread thread in threads)
            thread.Join();
    }

    private void RunThread()
    {
        while (TryTake(out DiskWork? work))
        {
            work!.Run();
            Charge(work.Bytes);
            work.TidyUp();
        }
    }

    private void Charge(long bytes)
    {
        lock (_gate)
        {
            long now = Stopwatch.GetTimestamp();
            Volatile.Write(ref _budget, BudgetAt(now));
            long ticks = (long)(bytes / _budget * Stopwatch.Frequency);
            _paidUntil = Math.Max(_paidUntil, now) + ticks;
        }
    }

    /// <summary>Bytes a second; infinite while there are no producers to leave something to. Under the gate.</summary>
    private double BudgetAt(long now)
    {
        long appended = appendedBytes();
        if (appended != _appended)
        {
            _appended = appended;
            _appendedAt = now;
        }
        TimeSpan sinceSample = Stopwatch.GetElapsedTime(_sampledAt, now);
        if (sinceSample >= RatePeriod)
        {
            _appendedPerSecond = (appended - _sampled) / sinceSample.TotalSeconds;
            _sampled = appended;
            _sampledAt = now;
        }
        return Stopwatch.GetElapsedTime(_appendedAt, now) < AppendPause
            ? Math.Max(bytesPerSecond, BudgetToAppends * _appendedPerSecond)
            : double.PositiveInfinity;
    }

    /// <summary>Waits, without the gate, until what was read is paid for; under the gate.</summary>
    private void WaitForBudget()
    {
        while (!_isStopping && Stopwatch.GetElapsedTime(Stopwatch.GetTimestamp(), _paidUntil) is var debt
            && debt > ShortestDelay)
        {
            Monitor.Wait(_gate, debt);
        }
    }

    private bool TryTake(out DiskWork? work)
    {
        lock (_gate)
        {
            WaitForBudget();
            while (_thisSweep.Count == 0)
            {
                if (_nextSweep.Count > 0)
                {
                    (_thisSweep, _nextSweep) = (_nextSweep, _thisSweep);
                    break;
                }
                if (_isStopping)
                {
                    work = null;
                    return false;
                }
                Monitor.Wait(_gate);
            }
            KeyValuePair<(long Position, long Number), DiskWork> next = _thisSweep.First();
            _thisSweep.Remove(next.Key);
            _sweep = next.Key.Position;
            work = next.Value;
            return true;
        }
    }
}
