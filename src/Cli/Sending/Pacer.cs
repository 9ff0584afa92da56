namespace EQueue.Cli.Sending;

/// <summary>Holds a sender to a rate: a token bucket that gives a hundredth of a second's messages at once.</summary>
internal sealed class Pacer
{
    private static readonly TimeSpan ShortestWait = TimeSpan.FromMilliseconds(5);

    private readonly double _perSecond;
    private readonly TimeProvider _time;
    private readonly double _burst;
    private double _tokens;
    private long _filledAt;

    public Pacer(int messagesPerSecond, TimeProvider time)
    {
        _perSecond = messagesPerSecond;
        _time = time;
        _burst = Math.Max(1, _perSecond / 100);
        _tokens = _burst;
        _filledAt = time.GetTimestamp();
    }

    /// <summary>Completes when one more message may be sent.</summary>
    public ValueTask WaitAsync(CancellationToken cancellationToken)
    {
        if (_tokens < 1)
            Fill();
        if (_tokens < 1)
            return new ValueTask(WaitForTokenAsync(cancellationToken));
        _tokens--;
        return ValueTask.CompletedTask;
    }

    private async Task WaitForTokenAsync(CancellationToken cancellationToken)
    {
        while (_tokens < 1)
        {
            var untilNext = TimeSpan.FromSeconds((1 - _tokens) / _perSecond);
            await Task.Delay(untilNext > ShortestWait ? untilNext : ShortestWait, _time, cancellationToken);
            Fill();
        }

        _tokens--;
    }

    /// <remarks>
    /// A late timer is made up for: as much as gathered in the last tenth of a second may go at once, so that the mean
    /// rate is met; what an outage kept back beyond that is not sent in a heap.
    /// </remarks>
    private void Fill()
    {
        long now = _time.GetTimestamp();
        double gathered = _time.GetElapsedTime(_filledAt, now).TotalSeconds * _perSecond;
        _filledAt = now;
        _tokens = Math.Min(_tokens + gathered, Math.Max(_burst, _perSecond / 10));
    }
}
