using System.Diagnostics;

namespace EQueue.Broker;

/// <summary>Timers that ring on one thread of their own.</summary>
/// <remarks>
/// <para>A timer of the runtime wakes the runtime's thread of timers, that one wakes a thread of the pool, and this one
/// looks for more work for a while before it sleeps again: what rings all day costs an idle broker more than all else
/// (docs/notes/latency.md). Here one thread wakes, and sleeps again.</para>
/// <para>For few timers: each delays the others while it looks whether there is something to do. What there is to do
/// goes to the pool. What throws ends the process, as with a timer of the runtime.</para>
/// </remarks>
internal sealed class TickThread
{
    private const long Never = long.MaxValue;

    private static readonly TickThread Shared = new();

    private readonly object _gate = new();
    private readonly List<TickTimer> _timers = [];
    private long _wakesAt = Never;
    private bool _isStarted;

    private TickThread()
    {
    }

    /// <summary>A timer that does not ring yet; of the clock itself where that is not the system's.</summary>
    /// <param name="time">The clock.</param>
    /// <param name="look">Called for each ring, one at a time; gives what there is to do, or null.</param>
    public static ITimer CreateTimer(TimeProvider time, Func<IThreadPoolWorkItem?> look) =>
        ReferenceEquals(time, TimeProvider.System)
            ? new TickTimer(Shared, look)
            : time.CreateTimer(
                _ => look()?.Execute(), null, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);

    private void Set(TickTimer timer, long dueAt)
    {
        lock (_gate)
        {
            bool wasSet = timer.DueAt != Never;
            timer.DueAt = dueAt;
            if (dueAt == Never)
            {
                _timers.Remove(timer);
                return;
            }

            if (!wasSet)
                _timers.Add(timer);
            if (!_isStarted)
            {
                _isStarted = true;
                new Thread(Run) { Name = "EQueue ticks", IsBackground = true }.UnsafeStart();
            }
            else if (dueAt < _wakesAt)
            {
                Monitor.Pulse(_gate);
            }
        }
    }

    private void Run()
    {
        while (true)
            WaitForNext().Ring();
    }

    /// <summary>Waits until a timer is due, and puts its next ring down.</summary>
    private TickTimer WaitForNext()
    {
        lock (_gate)
        {
            while (true)
            {
                TickTimer? first = null;
                foreach (TickTimer timer in _timers)
                {
                    if (first is null || timer.DueAt < first.DueAt)
                        first = timer;
                }

                long now = Stopwatch.GetTimestamp();
                if (first is not null && first.DueAt <= now)
                {
                    _wakesAt = now;
                    if (first.Period == 0)
                        _timers.Remove(first);
                    first.DueAt = first.Period == 0 ? Never : now + first.Period;
                    return first;
                }

                _wakesAt = first?.DueAt ?? Never;
                if (first is null)
                    Monitor.Wait(_gate);
                else
                    Monitor.Wait(_gate, MillisecondsUntil(first.DueAt, now));
            }
        }
    }

    /// <summary>Rounded up: rounded down, it would wake too early, and again at once.</summary>
    private static int MillisecondsUntil(long dueAt, long now) =>
        (int)Math.Min(Math.Ceiling(Stopwatch.GetElapsedTime(now, dueAt).TotalMilliseconds), int.MaxValue);

    private sealed class TickTimer(TickThread thread, Func<IThreadPoolWorkItem?> look) : ITimer
    {
        private bool _isDisposed;

        /// <summary>As <see cref="Stopwatch.GetTimestamp"/>; under the thread's gate.</summary>
        public long DueAt { get; set; } = Never;

        /// <summary>0 = it rings once; under the thread's gate.</summary>
        public long Period { get; private set; }

        public void Ring()
        {
            if (look() is { } work)
                ThreadPool.UnsafeQueueUserWorkItem(work, preferLocal: false);
        }

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            lock (thread._gate)
            {
                if (_isDisposed)
                    return false;
                Period = period > TimeSpan.Zero ? TicksOf(period) : 0;
                thread.Set(this, dueTime < TimeSpan.Zero ? Never : Stopwatch.GetTimestamp() + TicksOf(dueTime));
                return true;
            }
        }

        public void Dispose()
        {
            lock (thread._gate)
            {
                Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
                _isDisposed = true;
            }
        }

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }

        private static long TicksOf(TimeSpan span) => (long)(span.TotalSeconds * Stopwatch.Frequency);
    }
}
