using System.Text;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Which heartbeats are taken, and what they mean where they say nothing.</summary>
internal static class HeartbeatRules
{
    private const int MaxSubscriptions = 1_000;
    private const int MaxTags = 64;
    private const int MaxTagBytes = 249;

    private static readonly TimeSpan ShortestTimeout = TimeSpan.FromSeconds(1);
    private static readonly TimeSpan LongestSession = TimeSpan.FromMinutes(30);
    private static readonly TimeSpan LongestRelease = TimeSpan.FromHours(1);
    private static readonly TimeSpan LongestWait = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan LongestInterval = TimeSpan.FromSeconds(3);

    /// <exception cref="EQueueException">InvalidName, InvalidArgument.</exception>
    public static void Check(GroupHeartbeatRequest request)
    {
        RequestRules.CheckName(request.Group, "group");
        if (request.Member == Guid.Empty)
            throw RequestRules.Invalid("A member needs an id of its own.");
        if (request.Generation < GroupGeneration.Join)
            throw RequestRules.Invalid($"A generation is 0 (join) or more; asked with {request.Generation}.");
        if (request.InstanceId is { } instance)
            RequestRules.CheckName(instance, "instance");
        CheckTimeout(request.SessionTimeout, LongestSession, "session timeout");
        CheckTimeout(request.ReleaseTimeout, LongestRelease, "release timeout");
        if (request.MaxWait < TimeSpan.Zero)
            throw RequestRules.Invalid($"A wait is 0 or more; asked for {request.MaxWait}.");
        if (request.Generation == GroupGeneration.Join && request.Subscriptions is null or { Count: 0 })
            throw RequestRules.Invalid("A member joins with the topics that it reads.");
    }

    /// <summary>Tags by topic, sorted and distinct.</summary>
    /// <exception cref="EQueueException">InvalidName, InvalidArgument.</exception>
    public static Dictionary<string, string[]> ReadSubscriptions(IReadOnlyList<TopicSubscription> subscriptions)
    {
        if (subscriptions.Count > MaxSubscriptions)
        {
            throw RequestRules.Invalid(
                $"A member reads at most {MaxSubscriptions} topics; asked for {subscriptions.Count}.");
        }

        var wanted = new Dictionary<string, string[]>(subscriptions.Count);
        foreach (TopicSubscription subscription in subscriptions)
        {
            RequestRules.CheckName(subscription.Topic, "topic");
            string[] tags = [.. subscription.Tags.Distinct().Order(StringComparer.Ordinal)];
            if (tags.Length > MaxTags || tags.Any(tag => Encoding.UTF8.GetByteCount(tag) > MaxTagBytes))
            {
                throw RequestRules.Invalid(
                    $"A member asks for at most {MaxTags} tags of {MaxTagBytes} bytes in a topic; "
                    + $"asked for {tags.Length} in '{subscription.Topic}'.");
            }

            foreach (string tag in tags)
                RequestRules.CheckText(tag, $"tag of topic '{subscription.Topic}'");
            if (!wanted.TryAdd(subscription.Topic, tags))
                throw RequestRules.Invalid($"Topic '{subscription.Topic}' is named twice.");
        }

        return wanted;
    }

    public static TimeSpan SessionTimeout(TimeSpan asked) => asked == TimeSpan.Zero ? TimeSpan.FromSeconds(30) : asked;

    public static TimeSpan ReleaseTimeout(TimeSpan asked) => asked == TimeSpan.Zero ? TimeSpan.FromMinutes(5) : asked;

    /// <summary>How long a call may be held.</summary>
    public static TimeSpan Wait(TimeSpan asked, TimeSpan session) => Least(asked, Least(session / 3, LongestWait));

    /// <summary>When a member calls again whose calls are not held.</summary>
    public static TimeSpan Interval(TimeSpan session) => Least(session / 3, LongestInterval);

    public static EQueueException UnknownMember(string group, Guid member) =>
        new(ErrorCode.UnknownMember, $"{member} is not (or no longer) a member of group '{group}'.");

    /// <summary>The user that joined as a member speaks for it, and no other user that may read the group.</summary>
    /// <exception cref="EQueueException">UnknownMember.</exception>
    public static void CheckPrincipal(GroupMember? member, BrokerConnection peer, string group)
    {
        if (member is not null && member.Principal != PeerAccess.Of(peer).Principal)
            throw UnknownMember(group, member.Id);
    }

    public static string Describe(string[] tags) => tags.Length == 0 ? "all tags" : $"tags {string.Join(", ", tags)}";

    private static TimeSpan Least(TimeSpan a, TimeSpan b) => a < b ? a : b;

    private static void CheckTimeout(TimeSpan asked, TimeSpan longest, string what)
    {
        if (asked != TimeSpan.Zero && (asked < ShortestTimeout || asked > longest))
        {
            throw RequestRules.Invalid(
                $"A {what} is {ShortestTimeout} to {longest}, or 0 for the usual one; asked for {asked}.");
        }
    }
}
