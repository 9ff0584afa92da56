using System.Globalization;

namespace EQueue.Cli.Consuming;

/// <summary>Keeps people from eating what a group of their applications is to have.</summary>
internal static class GroupCheck
{
    /// <summary>How forwarders call themselves at brokers; a slash and the process follow.</summary>
    public const string ForwarderName = "equeue-forward";

    /// <exception cref="UsageException">The group has members, or has committed in the topic and has messages left
    /// there, or is to be followed: consuming as the group would take from it what is there and what
    /// comes.</exception>
    public static async ValueTask DemandAsync(
        EQueueAdmin admin, ConsumeRequest request, CancellationToken cancellationToken)
    {
        if (await FindAsync(admin, request.Group!, request.Topic, cancellationToken) is not { } group)
            return;
        bool hasProgress = group.Queues.Any(queue => queue.Committed.Value >= 0);
        long left = hasProgress ? group.Queues.Sum(queue => queue.Lag) : 0;
        int members = group.Members.Count;
        if (members == 0 && left == 0 && !(hasProgress && request.Follow))
            return;
        string has = string.Join(" and ", new[]
        {
            members > 0 ? Count(members) : null,
            left > 0 ? string.Create(CultureInfo.InvariantCulture, $"{left} messages of {request.Topic} to consume")
                : hasProgress ? $"progress in {request.Topic}" : null,
        }.OfType<string>());
        string printed = request.Follow && left == 0 ? "What comes next is printed here and committed"
            : "What is printed here is committed";
        throw new UsageException(
            $"{request.Group} has {has}. {printed}, and the group does not get it again: "
            + "add --yes to take part, or look without taking: --queue N.");
    }

    /// <summary>The same before a topic is forwarded as a group that was named. Progress may be that of an earlier
    /// run, so it is no reason to ask; neither are other forwarders, which share the work.</summary>
    /// <exception cref="UsageException">The group has members that are no forwarders.</exception>
    public static async ValueTask DemandForwardersAsync(
        EQueueAdmin admin, string group, string topic, CancellationToken cancellationToken)
    {
        if (await FindAsync(admin, group, topic, cancellationToken) is not { } found)
            return;
        int others = found.Members.Count(
            static member => !member.Client.StartsWith(ForwarderName + '/', StringComparison.Ordinal));
        if (others == 0)
            return;
        throw new UsageException(
            $"{group} has {Count(others)} that {(others == 1 ? "is no forwarder" : "are no forwarders")}. What is "
            + "forwarded is committed, and they do not get it: add --yes to take part, or leave --group out: each "
            + "target has a group of its own.");
    }

    private static string Count(int members) => members == 1 ? "1 member" : $"{members} members";

    /// <returns>Null when there is no such group.</returns>
    private static async ValueTask<GroupDescription?> FindAsync(
        EQueueAdmin admin, string group, string topic, CancellationToken cancellationToken)
    {
        try
        {
            return await admin.DescribeGroupAsync(group, topic, withAges: false, cancellationToken);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.UnknownGroup)
        {
            return null;
        }
    }
}
