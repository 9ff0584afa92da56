using EQueue.Load.Measuring;

namespace EQueue.Load.Sending;

/// <summary>
/// Sends each message when it is due, whatever has become of those before; every one is timed from then.
/// </summary>
internal sealed class PacedSender(double ratePerSecond, double seconds) : ISender
{
    public Task SendAsync(SendLane lane, CancellationToken cancellationToken)
    {
        var slots = new PacedSlot[lane.SlotCount];
        foreach (ref PacedSlot slot in slots.AsSpan())
            slot = new PacedSlot(lane.Ack);
        return BlockingLoop.RunAsync(() => Run(lane, slots, cancellationToken));
    }

    private void Run(SendLane lane, PacedSlot[] slots, CancellationToken cancellationToken)
    {
        SendCallback callback = static (state, _, error) => ((PacedSlot)state!).Complete(error);
        var pacer = new Pacer(ratePerSecond, seconds);
        while (pacer.WaitForNext(out long dueNs))
        {
            PacedSlot slot = slots[lane.Sequence % slots.Length];
            slot.WaitUntilFree(cancellationToken);
            slot.Begin(dueNs);
            string? key = lane.NextKey;
            Outgoing message = lane.NextDue(dueNs);
            lane.Producer.Send(message.Topic, new Message(message.Body, key), callback, slot, cancellationToken);
        }

        foreach (PacedSlot slot in slots)
            slot.WaitUntilFree(cancellationToken);
    }
}

/// <summary>One message under way; its body's slot is free again when it is over.</summary>
internal sealed class PacedSlot(LatencyHistogram ack)
{
    private long _dueNs;
    private EQueueException? _error;

    public void Begin(long dueNs) => Volatile.Write(ref _dueNs, dueNs);

    /// <summary>The message is stored or has failed. Any thread.</summary>
    public void Complete(EQueueException? error)
    {
        if (error is null)
            ack.Record(Clock.NowNs - _dueNs);
        _error = error;
        Volatile.Write(ref _dueNs, 0);
    }

    /// <summary>
    /// Waits for the message that has the slot; there is none unless tens of thousands are under way.
    /// </summary>
    public void WaitUntilFree(CancellationToken cancellationToken)
    {
        const long pollNs = 100_000;
        while (Volatile.Read(ref _dueNs) != 0)
        {
            cancellationToken.ThrowIfCancellationRequested();
            Limit.LinuxCalls.Wait(pollNs);
        }

        if (_error is not null)
            throw _error;
    }
}
