using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Which names and settings a topic may have.</summary>
internal static class TopicRules
{
    /// <exception cref="EQueueException">InvalidName.</exception>
    public static void CheckName(string name, string what)
    {
        if (!NameRules.IsValid(name))
        {
            throw new EQueueException(
                ErrorCode.InvalidName,
                $"The {what}'s name of {name.Length} characters is not 1 to {NameRules.MaxLength} of "
                + "A-Z a-z 0-9 . _ - or is '.' or '..'.");
        }
    }

    /// <summary>Checks what is set; what is not set is not looked at.</summary>
    /// <exception cref="EQueueException">InvalidArgument, TooManyQueues.</exception>
    public static void CheckSettings(TopicSettings settings, LimitOptions limits)
    {
        if (settings.QueueCount < 1)
            throw Invalid($"A topic has 1 or more queues; asked for {settings.QueueCount}.");
        if (settings.QueueCount > limits.MaxQueuesPerTopic)
        {
            throw new EQueueException(
                ErrorCode.TooManyQueues,
                $"A topic has at most {limits.MaxQueuesPerTopic} queues; asked for {settings.QueueCount}.");
        }

        if (settings.MaxMessageBytes < 1 || settings.MaxMessageBytes > limits.MaxMessageBytes)
        {
            throw Invalid(
                $"The largest message of a topic is 1 to {limits.MaxMessageBytes} bytes; "
                + $"asked for {settings.MaxMessageBytes}.");
        }

        if (settings.BacklogPolicy is { } policy && !Enum.IsDefined(policy))
            throw Invalid($"There is no backlog policy {(int)policy}.");
        if (settings.BacklogGroups is { } groups)
        {
            foreach (string group in groups.Split(',', StringSplitOptions.RemoveEmptyEntries))
                CheckName(group, "backlog group");
        }
    }

    public static EQueueException Invalid(string message) => new(ErrorCode.InvalidArgument, message);
}
