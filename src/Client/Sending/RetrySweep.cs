namespace EQueue.Client;

/// <summary>A lane's one timer: it wakes what may leave later, fails what has run out of time and lists what may be
/// tried again.</summary>
/// <remarks>Owns the timer; armed under the lane's gate, it rings on a thread of the pool.</remarks>
internal sealed class RetrySweep : IAsyncDisposable
{
    private static readonly TimeSpan LongestInterval = TimeSpan.FromSeconds(1);

    private readonly BrokerLane _lane;
    private readonly ProducerOptions _options;
    private readonly TimeProvider _time;
    private readonly ITimer _timer;
    private readonly TimeSpan _interval;
    private long _timerDue = long.MaxValue;
    private long _sweepDue = long.MaxValue;

    public RetrySweep(BrokerLane lane)
    {
        _lane = lane;
        _options = lane.Terms.Options;
        _time = lane.Terms.Time;
        TimeSpan quarter = _options.DeliveryTimeout / 4;
        _interval = quarter < LongestInterval ? quarter : LongestInterval;
        _timer = _time.CreateTimer(
            static sweep => ((RetrySweep)sweep!).OnTimer(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    public ValueTask DisposeAsync() => _timer.DisposeAsync();

    /// <summary>Makes the timer ring no later than <paramref name="due"/>. Under the gate.</summary>
    public void Arm(long due)
    {
        if (due >= _timerDue || _lane.IsClosed)
            return;
        _timerDue = due;

        // Timers count whole milliseconds: rounded down, this one would ring too early, and again at once.
        double wait = Math.Ceiling(_time.GetElapsedTime(_time.GetTimestamp(), due).TotalMilliseconds);
        _timer.Change(wait > 0 ? TimeSpan.FromMilliseconds(wait) : TimeSpan.Zero, Timeout.InfiniteTimeSpan);
    }

    /// <summary>There is a batch whose time may run out. Under the gate.</summary>
    public void ArmSweep() => ArmSweep(_time.After(_interval));

    /// <summary>A queue's batches are sent again after a pause: the broker's advice if it gave one, else one that
    /// doubles. Under the gate.</summary>
    public void RetryLater(QueueLane queue, int attempts, int retryAfterMs)
    {
        TimeSpan pause = retryAfterMs > 0
            ? TimeSpan.FromMilliseconds(Math.Min(retryAfterMs, _options.RetryBackoffMax.TotalMilliseconds))
            : _lane.Terms.BackoffOf(attempts);
        queue.Pending.RetryAt = _time.After(pause);
        ArmSweep(queue.Pending.RetryAt);
    }

    private void ArmSweep(long due)
    {
        _sweepDue = Math.Min(_sweepDue, due);
        Arm(due);
    }

    private void OnTimer()
    {
        List<SettledBatch> failed = [];
        using (_lane.Gate.Enter())
        {
            _timerDue = long.MaxValue;
            if (_lane.IsClosed)
                return;
            long now = _time.GetTimestamp();
            _lane.Leaving.EndOverdueHolds(now);
            Arm(_lane.Leaving.HoldEnd);
            if (now >= _sweepDue)
                SweepAll(now, failed);
            else
                Arm(_sweepDue);
            _lane.Session.TryRenew();
        }

        _lane.Answers.SettleAll(failed);
        BatchMoves.LeaveBroker(_lane);
        _lane.Dispatch.Run();
    }

    private void SweepAll(long now, List<SettledBatch> failed)
    {
        _sweepDue = long.MaxValue;
        bool hasPending = false;
        foreach (QueueLane queue in _lane.Queues)
            hasPending |= Sweep(queue, now, failed);
        if (hasPending)
            ArmSweep();
    }

    /// <summary>One queue's share of the timer.</summary>
    /// <returns>Whether something is left that time can change.</returns>
    private bool Sweep(QueueLane queue, long now, List<SettledBatch> failed)
    {
        if (queue.Open is { } open && _lane.Terms.IsOverdue(open, now))
            _lane.Dispatch.CloseBatch(queue, wasFull: false);
        foreach (SendBatch batch in queue.Pending)
        {
            // One that came from another queue may be older than those before it.
            if (batch.State == BatchState.Sent || !_lane.Terms.IsOverdue(batch, now))
                continue;
            _lane.Fail(batch, SendFaults.Expired(batch, _lane), failed);
            _lane.Answers.OnGivenUp(batch, "ran out of time");
        }

        if (queue.Pending.RetryAt > now)
            ArmSweep(queue.Pending.RetryAt);
        _lane.Dispatch.List(queue);
        return queue.Pending.First is not null || queue.Open is not null;
    }
}
