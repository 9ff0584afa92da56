using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Says what a send waited for in vain that no batch has taken: the route, or memory, and why it was not
/// there.</summary>
internal static class Shortage
{
    /// <summary>The failure of a send whose time is over.</summary>
    /// <param name="producer">Whose send.</param>
    /// <param name="topic">Where to.</param>
    /// <param name="isKeyed">Whether it needs the whole route.</param>
    public static EQueueException Of(Producer producer, TopicLane topic, bool isKeyed)
    {
        string time = $"{producer.Options.DeliveryTimeout.TotalSeconds:0.###} s";
        if (!topic.IsKnownFor(isKeyed))
        {
            string reason =
                producer.RouteTrouble ?? topic.LastRefusal?.Message.TrimEnd('.') ?? "no broker has answered";
            return new EQueueException(
                ErrorCode.Timeout, $"No route to {topic.Name} within {time}: {reason}.", topic.LastRefusal);
        }

        BrokerLane[] lanes = producer.Lanes();
        string[] causes = lanes.Select(static lane => lane.Trouble).OfType<string>().Distinct().ToArray();
        if (topic.Sticky?.Bound is { } bound)
            causes = [bound.Words, .. causes];
        string why = causes.Length == 0 ? "the brokers have not acknowledged them yet" : string.Join("; ", causes);
        return new EQueueException(
            ErrorCode.Timeout,
            $"No memory for a message to {topic.Name} within {time}: {producer.BufferedBytes} of "
            + $"{producer.Options.BufferMemoryBytes} bytes are held by messages that are not acknowledged: {why}.");
    }
}
