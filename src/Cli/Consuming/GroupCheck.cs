using System.Globalization;
using EQueue.Client;
using EQueue.Protocol;

namespace EQueue.Cli.Consuming;

/// <summary>Keeps people from eating what a group of their applications is to have.</summary>
internal static class GroupCheck
{
    /// <exception cref="UsageException">The group has members, or has committed in the topic and has messages left
    /// there: consuming as the group would take them from it.</exception>
    public static async ValueTask DemandAsync(
        EQueueAdmin admin, ConsumeRequest request, CancellationToken cancellationToken)
    {
        GroupDescription group;
        try
        {
            group = await admin.DescribeGroupAsync(
                request.Group!, request.Topic, withAges: false, cancellationToken);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.UnknownGroup)
        {
            return;
        }

        bool hasProgress = group.Queues.Any(queue => queue.Committed.Value >= 0);
        long left = group.Queues.Sum(queue => queue.Lag);
        int members = group.Members.Count;
        if (members == 0 && (!hasProgress || left == 0)) return;
        string has = string.Join(" and ", new[]
        {
            members == 0 ? null : members == 1 ? "1 member" : $"{members} members",
            !hasProgress || left == 0
                ? null : string.Create(CultureInfo.InvariantCulture, $"{left} messages of {request.Topic} to consume"),
        }.OfType<string>());
        throw new UsageException(
            $"{request.Group} has {has}. What is printed here is committed, and the group does not get it again: "
            + "add --yes to take part, or look without taking: --queue N.");
    }
}
