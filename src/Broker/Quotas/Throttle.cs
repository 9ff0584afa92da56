using System.Collections.Concurrent;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Slows those who are too fast, without a thread: holds answers back, leaves connections unread.
/// Thread-safe.</summary>
internal sealed class Throttle : IDisposable
{
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

    /// <summary>A wait of a receive loop; over at once when the connection ends or the broker stops.</summary>
    public async ValueTask PauseAsync(BrokerConnection peer, ValueTask handling, TimeSpan wait)
    {
        Count(wait);
        await handling;
        using var ended = CancellationTokenSource.CreateLinkedTokenSource(_stopping.Token, peer.Closed);
        await Task.Delay(wait, _time, ended.Token).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

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

    private void Release(HeldAnswer answer)
    {
        if (_held.TryRemove(answer, out _))
            answer.Leave();
    }
}
