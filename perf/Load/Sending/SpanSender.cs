namespace EQueue.Load.Sending;

/// <summary>SendAsync from a span: the bytes are the caller's again when the call returns.</summary>
internal sealed class SpanSender(int inFlight) : ISender
{
    public async Task SendAsync(SendLane lane, CancellationToken cancellationToken)
    {
        var receipts = new ReceiptRing<SendReceipt>(inFlight, lane.Ack);
        while (lane.TryNext(out Outgoing message))
        {
            ReadOnlySpan<byte> body = message.Body.Span;
            ValueTask<SendReceipt> receipt = lane.Producer.SendAsync(message.Topic, body, cancellationToken: cancellationToken);
            receipts.Add(receipt, message.StartNs);
            if (receipts.IsFull)
                await receipts.TakeOldest();
        }

        await receipts.DrainAsync();
    }
}
