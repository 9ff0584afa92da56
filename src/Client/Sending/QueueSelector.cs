using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>The one place that decides which queue a message goes to.</summary>
internal static class QueueSelector
{
    /// <summary>By key, as Kafka's Java client does: murmur2 modulo the number of queues.</summary>
    public static QueueLane OfKey(QueueLane[] queues, scoped ReadOnlySpan<byte> key) =>
        queues[Murmur2.QueueOf(key, queues.Length)];

    /// <summary>By key.</summary>
    public static QueueLane OfKey(QueueLane[] queues, string key)
    {
        if (queues.Length == 1)
            return queues[0];
        Span<byte> room = stackalloc byte[MessageEncoder.TextBytes];
        return OfKey(queues, MessageEncoder.Encode(key, ref room).Value);
    }

    /// <summary>How many neighbours of a call go to one queue: all without a key, or with keys of that queue.</summary>
    /// <param name="queues">Of the topic.</param>
    /// <param name="queue">Where the first one goes.</param>
    /// <param name="messages">One or more.</param>
    public static int CountOfQueue(QueueLane[] queues, QueueLane queue, ReadOnlySpan<Message> messages)
    {
        string? first = messages[0].Key;
        int count = 1;
        while (count < messages.Length
            && (messages[count].Key is { } key ? first is not null && OfKey(queues, key) == queue : first is null))
        {
            count++;
        }

        return count;
    }

    /// <summary>The present one of messages without a key.</summary>
    public static QueueLane At(QueueLane[] queues, int sticky) => queues[Wrap(sticky, queues.Length)];

    /// <summary>The next queue that takes messages at a broker that is there. When there is none, the same one if it
    /// only waits for its broker, else the next that only does.</summary>
    public static int Next(QueueLane[] queues, int sticky)
    {
        int present = Wrap(sticky, queues.Length);
        int otherwise = queues[present].IsWritable ? sticky : -1;
        for (int step = 1; step < queues.Length; step++)
        {
            int next = (present + step) % queues.Length;
            if (queues[next].TakesMessages)
                return next;
            if (otherwise < 0 && queues[next].IsWritable)
                otherwise = next;
        }

        return otherwise < 0 ? sticky : otherwise;
    }

    /// <summary>An index that outlived a change of the number of queues.</summary>
    public static int Wrap(int index, int count) => index < count ? index : index % count;
}
