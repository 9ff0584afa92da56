namespace EQueue.Load.Sending;

/// <summary>SendOneway: nothing comes back, so nothing is timed; a full producer makes the caller wait.</summary>
internal sealed class OnewaySender : ISender
{
    public Task SendAsync(SendLane lane, CancellationToken cancellationToken) => BlockingLoop.RunAsync(() =>
    {
        while (lane.TryNext(out Outgoing message))
            lane.Producer.SendOneway(message.Topic, message.Body.Span, cancellationToken: cancellationToken);
    });
}
