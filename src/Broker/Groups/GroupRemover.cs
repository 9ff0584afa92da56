namespace EQueue.Broker;

/// <summary>Removes the progress of groups without members, and at last the groups.</summary>
internal sealed class GroupRemover(ProgressWriter progress)
{
    private const int MaxRemovedAtOnce = 1_000;

    /// <summary>Removes progress in batches, the record of the group in the last one.</summary>
    /// <param name="group">Whose.</param>
    /// <param name="topic">Only the progress in its queues; null = everything.</param>
    /// <param name="mayRemove">Asked under the group's gate before each batch; may throw.</param>
    /// <param name="cancellationToken">Ends the wait for room between batches.</param>
    /// <returns>False when it may not be, or when the group was gone before anything was removed.</returns>
    public async Task<bool> RemoveAsync(
        Group group, Topic? topic, Func<Group, bool> mayRemove, CancellationToken cancellationToken)
    {
        HashSet<QueueId>? queues = topic is null ? null : [.. topic.Queues];
        bool isMore = true;
        bool hasBegun = false;
        bool isRefused = false;
        while (isMore)
        {
            bool isThere = await progress.WriteAsync(
                group,
                () =>
                {
                    isRefused = !mayRemove(group);
                    if (isRefused)
                        return null;
                    // A commit under way is seen only once it is visible: by the round after this one.
                    isMore = group.Roster.HasPendingCommits;
                    List<ProgressChange> changes =
                    [
                        .. group.Progress
                            .Where(key => queues is null || queues.Contains(key.Queue.Id))
                            .Take(MaxRemovedAtOnce)
                            .Select(key => new ProgressChange(key, null)),
                    ];
                    isMore |= changes.Count == MaxRemovedAtOnce;
                    if (topic is null && changes.Count < MaxRemovedAtOnce)
                        changes.Add(new ProgressChange(null, null));
                    else if (topic is not null && isMore && changes.Count == 0)
                        changes.Add(NothingIn(topic));
                    return changes.Count > 0 ? changes : null;
                },
                cancellationToken);
            if (!isThere || isRefused)
                return hasBegun && !isRefused;
            hasBegun = true;
        }

        return true;
    }

    /// <summary>Removes what is not there: visible no sooner than what is under way.</summary>
    private static ProgressChange NothingIn(Topic topic) =>
        new(new ProgressKey(null, new QueueKey(0, topic.Queues[0])), null);
}
