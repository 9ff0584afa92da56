namespace EQueue.Broker;

/// <summary>How a topic bounds its backlog; <see cref="long.MaxValue"/> = no bound.</summary>
internal sealed record BacklogRules(
    long MaxMessages, long MaxBytes, BacklogPolicy Policy, IReadOnlyList<string> Groups)
{
    /// <summary>The rules of a topic's settings; null when they bound nothing.</summary>
    public static BacklogRules? From(TopicSettings settings)
    {
        long messages = settings.MaxBacklogMessages is > 0 and var most ? most : long.MaxValue;
        long bytes = settings.MaxBacklogBytes is > 0 and var mostBytes ? mostBytes : long.MaxValue;
        return messages == long.MaxValue && bytes == long.MaxValue
            ? null
            : new BacklogRules(
                messages,
                bytes,
                settings.BacklogPolicy ?? BacklogPolicy.Block,
                settings.BacklogGroups?.Split(',', StringSplitOptions.RemoveEmptyEntries) ?? []);
    }
}
