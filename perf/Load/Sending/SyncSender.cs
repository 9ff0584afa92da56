using EQueue.Load.Measuring;

namespace EQueue.Load.Sending;

/// <summary>Send: one message at a time, on a thread that blocks.</summary>
internal sealed class SyncSender : ISender
{
    public Task SendAsync(SendLane lane, CancellationToken cancellationToken) => BlockingLoop.RunAsync(() =>
    {
        while (lane.TryNext(out Outgoing message))
        {
            lane.Producer.Send(message.Topic, message.Body.Span, cancellationToken: cancellationToken);
            if (message.StartNs != 0)
                lane.Ack.Record(Clock.NowNs - message.StartNs);
        }
    });
}
