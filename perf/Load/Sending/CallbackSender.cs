using EQueue.Load.Measuring;

namespace EQueue.Load.Sending;

/// <summary>
/// Send with a callback, from a thread that blocks while as many messages as allowed are outstanding.
/// </summary>
internal sealed class CallbackSender(int inFlight) : ISender
{
    public Task SendAsync(SendLane lane, CancellationToken cancellationToken)
    {
        return BlockingLoop.RunAsync(() =>
        {
            using var gate = new CallbackGate(inFlight, lane.Ack);
            SendCallback callback = gate.OnSent;
            while (lane.TryNext(out Outgoing message))
            {
                gate.Enter(cancellationToken);
                object? state = message.StartNs == 0 ? null : message.StartNs;
                lane.Producer.Send(message.Topic, new Message(message.Body), callback, state, cancellationToken);
            }

            gate.WaitUntilEmpty(cancellationToken);
        });
    }
}

/// <summary>Counts outstanding callbacks; a full gate opens again when half of them are back.</summary>
internal sealed class CallbackGate(int capacity, LatencyHistogram ack) : IDisposable
{
    private readonly ManualResetEventSlim _wake = new();
    private long _entered;
    private long _returned;
    private long _wakeAt = long.MaxValue;
    private EQueueException? _error;

    /// <summary>Waits while the gate is full, then counts one more as outstanding. One thread enters.</summary>
    public void Enter(CancellationToken cancellationToken)
    {
        if (_entered - Volatile.Read(ref _returned) >= capacity)
            WaitUntilReturned(_entered - (capacity / 2), cancellationToken);
        if (_error is not null)
            throw _error;
        _entered++;
    }

    public void WaitUntilEmpty(CancellationToken cancellationToken)
    {
        WaitUntilReturned(_entered, cancellationToken);
        if (_error is not null)
            throw _error;
    }

    /// <summary>A message is stored or has failed. Any thread.</summary>
    public void OnSent(object? state, SendReceipt receipt, EQueueException? error)
    {
        if (state is long startNs)
            ack.Record(Clock.NowNs - startNs);
        if (error is not null)
            Volatile.Write(ref _error, error);
        if (Interlocked.Increment(ref _returned) >= Volatile.Read(ref _wakeAt))
            _wake.Set();
    }

    public void Dispose() => _wake.Dispose();

    private void WaitUntilReturned(long wanted, CancellationToken cancellationToken)
    {
        _wake.Reset();
        Interlocked.Exchange(ref _wakeAt, wanted);
        while (Interlocked.Read(ref _returned) < wanted)
            _wake.Wait(cancellationToken);
        Volatile.Write(ref _wakeAt, long.MaxValue);
    }
}
