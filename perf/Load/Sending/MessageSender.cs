using EQueue.Load.Measuring;

namespace EQueue.Load.Sending;

/// <summary>One SendAsync per message.</summary>
internal sealed class MessageSender(int inFlight) : ISender
{
    public Task SendAsync(SendLane lane, CancellationToken cancellationToken) =>
        inFlight == 1 ? SendOneByOneAsync(lane, cancellationToken) : SendManyAsync(lane, cancellationToken);

    private static async Task SendOneByOneAsync(SendLane lane, CancellationToken cancellationToken)
    {
        while (lane.TryNext(out Outgoing message))
        {
            await lane.Producer.SendAsync(message.Topic, message.Body, cancellationToken: cancellationToken);
            if (message.StartNs != 0)
                lane.Ack.Record(Clock.NowNs - message.StartNs);
        }
    }

    private async Task SendManyAsync(SendLane lane, CancellationToken cancellationToken)
    {
        var receipts = new ReceiptRing<SendReceipt>(inFlight, lane.Ack);
        while (lane.TryNext(out Outgoing message))
        {
            ValueTask<SendReceipt> receipt = lane.Producer.SendAsync(message.Topic, message.Body, cancellationToken: cancellationToken);
            receipts.Add(receipt, message.StartNs);
            if (receipts.IsFull)
                await receipts.TakeOldest();
        }

        await receipts.DrainAsync();
    }
}
