using System.Collections.Concurrent;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Slows those who are too fast, without a thread: holds answers back, leaves connections unread.
/// Thread-safe.</summary>
internal sealed class Throttle : IDisposable
{
    /// <summary>Debts below it are carried on.</summary>
    public static readonly TimeSpan ShortestWait = TimeSpan.FromMilliseconds(20);

    /// <summary>Longest hold of an answer, and longest time that a connection is not read.</summary>
    public static readonly TimeSpan LongestWait = TimeSpan.FromSeconds(10);

    private readonly ConcurrentDictionary<HeldAnswer, bool> _held = new();
    private readonly CancellationTokenSource _stopping = new();
    private readonly BrokerCounters _counters;
    private readonly TimeProvider _time;
    private readonly DeadlineWheel<HeldAnswer> _wheel;

    public Throttle(BrokerCounters counters, TimeProvider time)
    {
        _counters = counters;
        _time = time;
        _wheel = new DeadlineWheel<HeldAnswer>(time, Release);
    }

    /// <summary>Counts a request that is slowed.</summary>
    public void Count(TimeSpan wait)
    {
        Interlocked.Increment(ref _counters.ThrottledRequests);
        Interlocked.Add(ref _counters.ThrottledMilliseconds, (long)wait.TotalMilliseconds);
    }

    /// <summary>Answers later, and counts the request as answered then.</summary>
    public void Hold(BrokerConnection peer, in FrameHeader request, FrameBuffer body, TimeSpan wait)
    {
        Count(wait);
        var answer = new HeldAnswer(peer, request, body);
        _held[answer] = true;
        _wheel.Add(answer, wait);
        if (_stopping.IsCancellationRequested)
            Release(answer);
    }

    /// <summary>When the answer may leave of a request whose sender has this debt: a time of the clock; 0 = at
    /// once.</summary>
    public long HoldUntil(TimeSpan debt) => debt < ShortestWait
        ? 0
        : _time.GetTimestamp() + (long)(Cut(debt).TotalSeconds * _time.TimestampFrequency);

    /// <summary>How long an answer has to be held still; zero = it may leave.</summary>
    public TimeSpan LeftOf(long heldUntil)
    {
        if (heldUntil == 0)
            return TimeSpan.Zero;
        TimeSpan hold = _time.GetElapsedTime(_time.GetTimestamp(), heldUntil);
        return hold < ShortestWait ? TimeSpan.Zero : hold;
    }

    /// <summary>Leaves the connection of a client in debt unread for that time, at most the longest; over at once when
    /// the connection ends or the broker stops.</summary>
    /// <param name="peer">The connection, whose receive loop waits for what is returned.</param>
    /// <param name="handling">The request for which it was charged.</param>
    /// <param name="debt">What is owed.</param>
    public ValueTask PauseAsync(BrokerConnection peer, ValueTask handling, TimeSpan debt) =>
        debt < ShortestWait ? handling : PauseForAsync(peer, handling, Cut(debt));

    /// <summary>Answers everything at once, now and from now on.</summary>
    public void Stop()
    {
        // The loops that pause go on elsewhere: they must not hold up the stop.
        _ = _stopping.CancelAsync();
        foreach (HeldAnswer answer in _held.Keys)
        {
            _wheel.Remove(answer);
            Release(answer);
        }
    }

    public void Dispose()
    {
        _wheel.Dispose();
        _stopping.Dispose();
    }

    private static TimeSpan Cut(TimeSpan wait) => wait < LongestWait ? wait : LongestWait;

    private async ValueTask PauseForAsync(BrokerConnection peer, ValueTask handling, TimeSpan wait)
    {
        Count(wait);
        await handling;
        using var ended = CancellationTokenSource.CreateLinkedTokenSource(_stopping.Token, peer.Closed);
        await Task.Delay(wait, _time, ended.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    private void Release(HeldAnswer answer)
    {
        if (_held.TryRemove(answer, out _))
            answer.Leave();
    }
}
