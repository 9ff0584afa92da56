using System.Diagnostics;

namespace EQueue.Cluster;

/// <summary>The one thread on which the rules of a replica run: what happens elsewhere is posted here.</summary>
/// <remarks>A thread of its own, so that heartbeats go out however busy the pool is.</remarks>
internal sealed class ReplicaLoop : IDisposable
{
    private const int TellIntervalMs = 60_000;

    private static readonly TimeSpan TickInterval = TimeSpan.FromMilliseconds(10);

    private readonly Mailbox<Action> _inbox = new();
    private readonly Action<long> _tick;
    private readonly Action<Exception> _failed;
    private readonly Thread _thread;
    private readonly long _began = Stopwatch.GetTimestamp();
    private long _tickedMs;
    private long _pausedMs;
    private long? _toldMs;

    /// <param name="name">Of the thread.</param>
    /// <param name="tick">Called every few milliseconds with the time.</param>
    /// <param name="failed">Called once, on the thread, with what ended it.</param>
    public ReplicaLoop(string name, Action<long> tick, Action<Exception> failed)
    {
        (_tick, _failed) = (tick, failed);
        _thread = new Thread(Run) { IsBackground = true, Name = name };
    }

    /// <summary>Milliseconds since the loop was made; no clock of the wall.</summary>
    public long NowMs => (long)Stopwatch.GetElapsedTime(_began).TotalMilliseconds;

    public void Start() => _thread.Start();

    /// <summary>The longest pause between two ticks that was not told yet, in milliseconds; null when it was no longer
    /// than so much, or the one before was told within the minute. On the thread.</summary>
    public long? TakePause(int atLeastMs)
    {
        if (_pausedMs <= atLeastMs || _tickedMs - _toldMs < TellIntervalMs)
            return null;
        _toldMs = _tickedMs;
        long longest = _pausedMs;
        _pausedMs = 0;
        return longest;
    }

    /// <summary>Has something done on the thread; dropped when it has ended.</summary>
    public void Post(Action action) => _inbox.Post(action);

    /// <summary>Ends the thread after what it is doing; not from the thread itself.</summary>
    public void Stop()
    {
        _inbox.Close();
        if (_thread.IsAlive && Thread.CurrentThread != _thread)
            _thread.Join();
    }

    public void Dispose() => Stop();

    private void Run()
    {
        try
        {
            while (!_inbox.IsDone)
            {
                if (_inbox.TryTake(out Action? action, TickInterval))
                    action();
                long now = NowMs;
                if (now - _tickedMs < TickInterval.TotalMilliseconds)
                    continue;
                _pausedMs = Math.Max(_pausedMs, now - _tickedMs - (long)TickInterval.TotalMilliseconds);
                _tickedMs = now;
                _tick(now);
            }
        }
        catch (Exception exception)
        {
            _failed(exception);
        }
    }
}
