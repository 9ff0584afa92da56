using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Which settings a topic may have.</summary>
internal static class TopicRules
{
    private const int MaxBacklogGroupsLength = 1_024;

    /// <summary>Checks what is set; what is not set is not looked at.</summary>
    /// <exception cref="EQueueException">InvalidArgument, TooManyQueues.</exception>
    public static void CheckSettings(TopicSettings settings, LimitOptions limits)
    {
        if (settings.QueueCount < 1)
            throw RequestRules.Invalid($"A topic has 1 or more queues; asked for {settings.QueueCount}.");
        if (settings.QueueCount > limits.MaxQueuesPerTopic)
        {
            throw new EQueueException(
                ErrorCode.TooManyQueues,
                $"A topic has at most {limits.MaxQueuesPerTopic} queues; asked for {settings.QueueCount}.");
        }

        if (settings.MaxMessageBytes < 1 || settings.MaxMessageBytes > limits.MaxMessageBytes)
        {
            throw RequestRules.Invalid(
                $"The largest message of a topic is 1 to {limits.MaxMessageBytes} bytes; "
                + $"asked for {settings.MaxMessageBytes}.");
        }

        if (settings.BacklogPolicy is { } policy && !Enum.IsDefined(policy))
            throw RequestRules.Invalid($"There is no backlog policy {(int)policy}.");
        if (settings.BacklogGroups is { } groups)
        {
            if (groups.Length > MaxBacklogGroupsLength)
            {
                throw RequestRules.Invalid(
                    $"The backlog groups of a topic take at most {MaxBacklogGroupsLength} characters; "
                    + $"asked for {groups.Length}.");
            }

            foreach (string group in groups.Split(',', StringSplitOptions.RemoveEmptyEntries))
                RequestRules.CheckName(group, "backlog group");
        }
    }

    /// <summary>Checks which queues are to be altered, and to what.</summary>
    /// <returns>Their numbers.</returns>
    /// <exception cref="EQueueException">InvalidArgument.</exception>
    public static IEnumerable<int> CheckQueues(AlterQueuesRequest request, int queueCount)
    {
        const QueueState settable = QueueState.Writable | QueueState.Readable;
        if (request.Mask == QueueState.None
            || (request.Mask | settable) != settable
            || (request.State | request.Mask) != request.Mask)
        {
            throw RequestRules.Invalid(
                $"Of a queue can be set whether it is writable (1) and readable (2); asked for {(int)request.State} "
                + $"of {(int)request.Mask}.");
        }

        if (request.Numbers is null)
            return Enumerable.Range(0, queueCount);
        foreach (int number in request.Numbers)
        {
            if (number < 0 || number >= queueCount)
            {
                throw RequestRules.Invalid(
                    $"'{request.Topic}' has queues 0 to {queueCount - 1}; asked for number {number}.");
            }
        }

        return request.Numbers.Count > 0 ? request.Numbers : throw RequestRules.Invalid("Name at least one queue.");
    }
}
