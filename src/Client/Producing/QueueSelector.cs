using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>The one place that decides which queue a message goes to.</summary>
internal static class QueueSelector
{
    /// <summary>
    /// By key, as Kafka's Java client does: murmur2 modulo the number of queues; without a key the present sticky one.
    /// </summary>
    public static QueueLane Select(QueueLane[] queues, scoped OptionalBytes key, int sticky) => key.HasValue
        ? queues[Murmur2.QueueOf(key.Value, queues.Length)]
        : queues[Wrap(sticky, queues.Length)];

    /// <summary>The next queue that takes messages; the same one when no other does.</summary>
    public static int Next(QueueLane[] queues, int sticky)
    {
        for (var step = 1; step < queues.Length; step++)
        {
            var next = (Wrap(sticky, queues.Length) + step) % queues.Length;
            if (queues[next].IsWritable)
                return next;
        }

        return sticky;
    }

    /// <summary>An index that outlived a change of the number of queues.</summary>
    public static int Wrap(int index, int count) => index < count ? index : index % count;
}
