namespace EQueue.Load.Sending;

/// <summary>SendBatchAsync with a fixed number of messages per call; calls are awaited in order.</summary>
internal sealed class BatchSender(int batchCount, int inFlight) : ISender
{
    public async Task SendAsync(SendLane lane, CancellationToken cancellationToken)
    {
        int callCount = Math.Max(1, inFlight / batchCount);
        var calls = new ReceiptRing<BatchReceipt>(callCount, lane.Ack);

        // A call's messages are its own until its receipt is taken.
        Message[][] rooms = [.. Enumerable.Range(0, callCount).Select(_ => new Message[batchCount])];
        for (int number = 0; true; number = number + 1 == callCount ? 0 : number + 1)
        {
            if (calls.IsFull)
                await calls.TakeOldest();
            Message[] room = rooms[number];
            int filled = Fill(lane, room, out string topic, out long startNs);
            if (filled == 0)
                break;
            IReadOnlyList<Message> messages =
                filled == batchCount ? room : new ArraySegment<Message>(room, 0, filled);
            calls.Add(lane.Producer.SendBatchAsync(topic, messages, cancellationToken), startNs);
        }

        await calls.DrainAsync();
    }

    /// <summary>Takes the messages of one call; all go to the topic of the first.</summary>
    private static int Fill(SendLane lane, Message[] messages, out string topic, out long startNs)
    {
        topic = string.Empty;
        startNs = 0;
        int filled = 0;
        while (filled < messages.Length && lane.TryNext(out Outgoing message))
        {
            if (filled == 0)
                topic = message.Topic;
            if (startNs == 0)
                startNs = message.StartNs;
            messages[filled++] = new Message(message.Body);
        }

        return filled;
    }
}
