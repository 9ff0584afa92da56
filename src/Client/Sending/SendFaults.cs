using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Says why messages were not sent, with the facts that a person needs.</summary>
internal static class SendFaults
{
    /// <summary>The broker's refusal of a batch. One that waited in vain, or may not wait, is told what for.</summary>
    public static EQueueException Refused(in ProduceResult result, QueueLane queue)
    {
        string words = ErrorCodes.Describe(result.Error);
        if (result.Error is ErrorCode.Timeout or ErrorCode.QueueFull && queue.Bound is { } bound)
            words = $"{words}: {bound.Words}";
        return new EQueueException(result.Error, $"{words} ({queue} at {queue.Broker.Address}).")
        {
            RetryAfter = TimeSpan.FromMilliseconds(result.RetryAfterMs),
        };
    }

    /// <summary>The delivery timeout of a batch is over.</summary>
    public static EQueueException Expired(SendBatch batch, BrokerLane lane)
    {
        var queue = QueueLane.Of(batch);
        TimeSpan time = lane.Terms.Options.DeliveryTimeout;
        EQueueException? cause = batch.LastError ?? lane.Session.LastError;
        if (!batch.MayBeStored && !queue.IsWritable && cause is null or { Code: ErrorCode.QueueNotWritable })
        {
            return new EQueueException(
                ErrorCode.QueueNotWritable,
                $"{queue} at {lane.Address} took no messages for {time}, and no other queue did.",
                cause);
        }

        return new EQueueException(
            ErrorCode.Timeout,
            $"Not acknowledged by {lane.Address} within {time}"
            + ((cause?.Message ?? lane.Trouble) is { } why ? $"; last: {why.TrimEnd('.')}." : "."),
            cause);
    }

    /// <summary>A batch whose fate stays unknown.</summary>
    public static EQueueException Untold(SendBatch batch, BrokerLane lane) => new(
        ErrorCode.Timeout,
        $"Nobody can tell whether {lane.Address} has stored it: an answer was lost, and a batch before it for "
        + $"{QueueLane.Of(batch)} was not acknowledged within {lane.Terms.Options.DeliveryTimeout}.",
        batch.LastError);

    /// <summary>A send waited in vain for the route or for memory.</summary>
    /// <param name="topic">Where to.</param>
    /// <param name="isKeyed">Whether it needs the whole route.</param>
    /// <param name="routes">Of the producer.</param>
    public static EQueueException Shortage(TopicLane topic, bool isKeyed, SendRoutes routes)
    {
        SendTerms terms = routes.Terms;
        string time = $"{terms.Options.DeliveryTimeout.TotalSeconds:0.###} s";
        if (!topic.IsKnownFor(isKeyed))
        {
            string reason = routes.Trouble ?? topic.LastRefusal?.Message.TrimEnd('.') ?? "no broker has answered";
            return new EQueueException(
                ErrorCode.Timeout, $"No route to {topic.Name} within {time}: {reason}.", topic.LastRefusal);
        }

        string[] causes = [.. routes.Lanes().Select(static lane => lane.Trouble).OfType<string>().Distinct()];
        if (topic.Sticky?.Bound is { } bound)
            causes = [bound.Words, .. causes];
        string why = causes.Length == 0 ? "the brokers have not acknowledged them yet" : string.Join("; ", causes);
        return new EQueueException(
            ErrorCode.Timeout,
            $"No memory for a message to {topic.Name} within {time}: {terms.Budget.Used} of "
            + $"{terms.Options.BufferMemoryBytes} bytes are held by messages that are not acknowledged: {why}.");
    }

    /// <summary>A body is larger than the topic takes.</summary>
    public static EQueueException TooLarge(string topic, int size, uint most) =>
        new(ErrorCode.MessageTooLarge, $"The body has {size} bytes; {topic} takes {most}.");

    /// <summary>A message alone makes a batch that is too large.</summary>
    public static EQueueException TooLarge(string topic) => new(
        ErrorCode.MessageTooLarge,
        $"Body, key and properties together make a batch larger than the broker of {topic} takes.");
}
