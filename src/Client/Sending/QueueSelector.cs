using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>The one place that decides which queue a message goes to.</summary>
internal static class QueueSelector
{
    /// <summary>By key, as Kafka's Java client does: murmur2 modulo the number of queues.</summary>
    public static QueueLane OfKey(QueueLane[] queues, scoped ReadOnlySpan<byte> key) =>
        queues[Murmur2.QueueOf(key, queues.Length)];

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
