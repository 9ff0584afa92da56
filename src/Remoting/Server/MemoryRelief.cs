using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting;

/// <summary>Sees to it that frames which wait for receive memory come to it: closes connections that hold some for a
/// frame and send no more of it.</summary>
/// <remarks>Looks only while frames wait. Those that have stalled go, the oldest first, as many as the waiting frames
/// need. When none has and one has waited for a second, the slowest goes.</remarks>
internal sealed class MemoryRelief : IDisposable
{
    /// <summary>A frame has stalled after two looks.</summary>
    private static readonly TimeSpan Interval = TimeSpan.FromMilliseconds(250);

    private static readonly TimeSpan LongWait = TimeSpan.FromSeconds(1);

    private readonly ReceiveBudget _budget;
    private readonly ConcurrentDictionary<long, Connection> _connections;
    private readonly int _leastRate;
    private readonly ILogger _logger;
    private readonly TimeProvider _time;
    private readonly ITimer _timer;
    private long _slowestWentAt;
    private int _isArmed;

    public MemoryRelief(
        ReceiveBudget budget,
        ConcurrentDictionary<long, Connection> connections,
        int leastRate,
        ILogger logger,
        TimeProvider time)
    {
        _budget = budget;
        _connections = connections;
        _leastRate = leastRate;
        _logger = logger;
        _time = time;
        _timer = time.CreateTimer(
            static relief => ((MemoryRelief)relief!).Look(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        budget.Starved = Arm;
    }

    /// <summary>Looks no more.</summary>
    public void Dispose() => _timer.Dispose();

    private void Arm()
    {
        if (Interlocked.Exchange(ref _isArmed, 1) == 0)
            _timer.Change(Interval, Timeout.InfiniteTimeSpan);
    }

    private void Look()
    {
        Volatile.Write(ref _isArmed, 0);
        if (_budget.WaitingCount == 0)
            return;
        (long wanted, TimeSpan longest) = _budget.Want;
        List<HalfFrame> halves = Halves();
        long freed = 0;
        foreach (HalfFrame half in halves.Where(half => half.HasStalled).OrderByDescending(half => half.Age))
        {
            if (freed >= wanted)
                break;
            freed += half.Bytes;
            End(half);
        }

        if (freed == 0 && longest >= LongWait && IsSlowestDue())
            EndSlowest(halves);
        if (_budget.WaitingCount > 0)
            Arm();
    }

    private List<HalfFrame> Halves()
    {
        var halves = new List<HalfFrame>();
        foreach (KeyValuePair<long, Connection> entry in _connections)
        {
            if (entry.Value.TryFindHalfFrame(_leastRate, out HalfFrame? half))
                halves.Add(half);
        }

        return halves;
    }

    private bool IsSlowestDue() => _slowestWentAt == 0 || _time.GetElapsedTime(_slowestWentAt) >= LongWait;

    private void EndSlowest(List<HalfFrame> halves)
    {
        HalfFrame? slowest = halves.Where(half => half.Age >= LongWait).MinBy(half => half.Rate);
        if (slowest is null)
            return;
        _slowestWentAt = _time.GetTimestamp();
        End(slowest);
    }

    private void End(HalfFrame half)
    {
        Connection connection = half.Connection;
        Log.HalfFrameEnded(_logger, connection.Id, connection.RemoteEndPoint, half.Bytes, half.Age);
        connection.Close(new RemotingException(
            RemotingError.Timeout,
            $"Other frames wait for the {half.Bytes} bytes that a frame holds, which began {half.Age} ago."));
    }
}

/// <summary>A frame that is there in part and holds receive memory.</summary>
/// <param name="Connection">Whose.</param>
/// <param name="Bytes">The memory.</param>
/// <param name="Age">How long its peer has had for it.</param>
/// <param name="Rate">Bytes per second since it began.</param>
/// <param name="HasStalled">Whether next to nothing comes.</param>
internal sealed record HalfFrame(
    Connection Connection, int Bytes, TimeSpan Age, double Rate, bool HasStalled);
