namespace EQueue.Broker;

/// <summary>What the parts of a roster take in memory, in bytes, rounded up.</summary>
internal static class RosterSize
{
    /// <summary>A group with members.</summary>
    public const int Group = 1_500;

    /// <summary>A member without its subscriptions.</summary>
    public const int Member = 800;

    /// <summary>The longest names of a member: of its instance and its client.</summary>
    public const int Names = 1_400;

    /// <summary>A topic that a group reads, without its queues.</summary>
    public const int Topic = 300;

    /// <summary>A queue of it.</summary>
    public const int Queue = 200;

    /// <summary>A subscription of a member whose names it shares with its group.</summary>
    public const int Subscription = 80;

    private const int StringBytes = 24;

    /// <summary>Subscriptions as they came.</summary>
    public static long Of(IReadOnlyList<TopicSubscription> subscriptions)
    {
        long bytes = 0;
        foreach (TopicSubscription one in subscriptions)
            bytes += Subscription + OfText(one.Topic) + Of(one.Tags);
        return bytes;
    }

    /// <summary>Tags of a topic.</summary>
    public static long Of(IReadOnlyList<string> tags)
    {
        long bytes = 0;
        for (int i = 0; i < tags.Count; i++)
            bytes += OfText(tags[i]);
        return bytes;
    }

    /// <summary>A name.</summary>
    public static long OfText(string? text) => text is null ? 0 : StringBytes + 8 + (2L * text.Length);
}
