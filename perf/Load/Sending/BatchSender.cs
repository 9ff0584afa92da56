using EQueue.Client;
using EQueue.Load.Measuring;

namespace EQueue.Load.Sending;

/// <summary>SendBatchAsync with a fixed number of messages per call; calls are awaited in order.</summary>
internal sealed class BatchSender(int batchCount, int inFlight) : ISender
{
    public async Task SendAsync(SendLane lane, CancellationToken cancellationToken)
    {
        int callCount = Math.Max(1, inFlight / batchCount);
        var calls = new Queue<(Task Sent, Message[] Messages)>(callCount);
        var spare = new Stack<Message[]>();
        while (true)
        {
            Message[] messages = spare.Count > 0 ? spare.Pop() : new Message[batchCount];
            int filled = Fill(lane, messages, out string? topic, out long startNs);
            if (filled == 0)
                break;
            var batch = new ArraySegment<Message>(messages, 0, filled);
            calls.Enqueue((SendOneAsync(lane, topic, batch, startNs, cancellationToken), messages));
            if (calls.Count < callCount)
                continue;
            (Task Sent, Message[] Messages) oldest = calls.Dequeue();
            await oldest.Sent;
            spare.Push(oldest.Messages);
        }

        foreach ((Task Sent, Message[] Messages) call in calls)
            await call.Sent;
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

    private static async Task SendOneAsync(
        SendLane lane, string topic, IReadOnlyList<Message> batch, long startNs, CancellationToken cancellationToken)
    {
        await lane.Producer.SendBatchAsync(topic, batch, cancellationToken);
        if (startNs != 0)
            lane.Ack.Record(Clock.NowNs - startNs);
    }
}
