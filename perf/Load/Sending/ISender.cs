namespace EQueue.Load.Sending;

/// <summary>Sends one stretch of a lane's messages through one form of the product's API.</summary>
internal interface ISender
{
    /// <summary>Sends until the lane has no more; completes when every message is acknowledged.</summary>
    Task SendAsync(SendLane lane, CancellationToken cancellationToken);
}

/// <summary>The senders by API.</summary>
internal static class Senders
{
    public static ISender Create(ProducerOrder order) => order.Api switch
    {
        SendApi.Message => new MessageSender(order.InFlight),
        SendApi.Batch => new BatchSender(order.BatchCount, order.InFlight),
        SendApi.Span => new SpanSender(order.InFlight),
        SendApi.Oneway => new OnewaySender(),
        SendApi.Sync => new SyncSender(),
        SendApi.Callback => new CallbackSender(order.InFlight),
        _ => throw new ArgumentOutOfRangeException(nameof(order), order.Api, "no such API"),
    };
}
