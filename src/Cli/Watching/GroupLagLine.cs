namespace EQueue.Cli.Watching;

/// <summary>How far a group is behind in one topic, over all its queues.</summary>
/// <param name="Group">The group.</param>
/// <param name="Topic">The topic.</param>
/// <param name="MemberCount">Members of the group.</param>
/// <param name="QueueCount">Queues that the group has progress in or members for.</param>
/// <param name="Lag">Messages not committed, of all queues.</param>
/// <param name="LagMs">Age of the oldest of them in ms; -1 = not known.</param>
internal sealed record GroupLagLine(
    string Group, string Topic, int MemberCount, int QueueCount, long Lag, long LagMs)
{
    /// <summary>Groups asked about at once.</summary>
    private const int Window = 32;

    /// <summary>A line for each topic of each group, the furthest behind first.</summary>
    /// <param name="admin">Whom to ask.</param>
    /// <param name="groups">Which; empty = all that there are. Of those that are not named, one that goes meanwhile is
    /// left out.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <exception cref="EQueueException">UnknownGroup: one that was named is not there.</exception>
    public static async Task<IReadOnlyList<GroupLagLine>> ReadAsync(
        EQueueAdmin admin, IReadOnlyList<string> groups, CancellationToken cancellationToken)
    {
        List<string> names = [.. groups];
        if (names.Count == 0)
        {
            await foreach (GroupListing group in admin.ListGroupsAsync(cancellationToken))
                names.Add(group.Group);
        }

        var lines = new List<GroupLagLine>();
        foreach (string[] some in names.Chunk(Window))
        {
            IEnumerable<GroupLagLine>[] found = await Task.WhenAll(some.Select(
                name => ReadAsync(admin, name, isDemanded: groups.Count > 0, cancellationToken)));
            lines.AddRange(found.SelectMany(one => one));
        }

        return
        [
            .. lines.OrderByDescending(line => line.Lag)
                .ThenBy(line => line.Group, StringComparer.Ordinal).ThenBy(line => line.Topic, StringComparer.Ordinal),
        ];
    }

    private static async Task<IEnumerable<GroupLagLine>> ReadAsync(
        EQueueAdmin admin, string name, bool isDemanded, CancellationToken cancellationToken)
    {
        try
        {
            GroupDescription group = await admin.DescribeGroupAsync(name, cancellationToken: cancellationToken);
            return group.Queues.GroupBy(queue => queue.Topic, StringComparer.Ordinal).Select(topic => new GroupLagLine(
                name,
                topic.Key,
                group.Members.Count,
                topic.Count(),
                topic.Sum(queue => queue.Lag),
                topic.Max(queue => queue.LagMs)));
        }
        catch (EQueueException exception) when (!isDemanded && exception.Code == ErrorCode.UnknownGroup)
        {
            return [];
        }
    }
}
