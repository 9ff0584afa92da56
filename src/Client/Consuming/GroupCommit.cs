using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Tells a broker how far a group has come.</summary>
internal static class GroupCommit
{
    /// <summary>Queues in one request: their state stays below what a broker takes at once.</summary>
    private const int MaxQueues = 1000;

    /// <summary>Commits the processed offsets of queues that lie beyond what is committed: never back.</summary>
    /// <param name="link">The broker.</param>
    /// <param name="group">The group.</param>
    /// <param name="member">Its member; empty for none.</param>
    /// <param name="cursors">The queues.</param>
    /// <param name="timeout">How long one request may take.</param>
    /// <param name="cancellationToken">Ends the wait.</param>
    /// <param name="places">Where each queue is committed; null: where it is processed.</param>
    /// <returns>The queues that were refused.</returns>
    /// <exception cref="EQueueException">A whole request failed.</exception>
    public static async ValueTask<IReadOnlyList<(QueueCursor Cursor, ErrorCode Error)>> SendAsync(
        BrokerLink link,
        string group,
        Guid member,
        IReadOnlyList<QueueCursor> cursors,
        TimeSpan timeout,
        CancellationToken cancellationToken,
        IReadOnlyDictionary<QueueCursor, long>? places = null)
    {
        List<(QueueCursor Cursor, long Next)>? due = null;
        foreach (var cursor in cursors)
        {
            var next = places is null ? cursor.Processed : places[cursor];
            if (next > cursor.Committed)
                (due ??= []).Add((cursor, next));
        }

        if (due is null)
            return [];
        List<(QueueCursor, ErrorCode)>? refused = null;
        foreach (var share in due.Chunk(MaxQueues))
        {
            var request = new CommitOffsetsRequest(group, member, [.. share.Select(one => new OffsetCommit(
                one.Cursor.Key,
                one.Cursor.Grant,
                new QueueOffset(one.Next),
                places is null ? one.Cursor.LastEpoch : -1, // the entry before a place may be long gone from memory
                null))]);
            var response = await link.InvokeObservedAsync("commit", group, request, timeout, cancellationToken)
                .ConfigureAwait(false);
            if (response.Errors.Count != share.Length)
                throw Faults.Malformed(Opcode.CommitOffsets, link.Address.ToString());
            for (var i = 0; i < share.Length; i++)
            {
                // Behind what is committed: somebody has processed it, which is all that a commit says.
                var (cursor, next) = share[i];
                if (response.Errors[i] is ErrorCode.None or ErrorCode.OffsetBehind)
                    cursor.Committed = next;
                else
                    (refused ??= []).Add((cursor, response.Errors[i]));
            }
        }

        return (IReadOnlyList<(QueueCursor, ErrorCode)>?)refused ?? [];
    }

    /// <summary>What the application is told of a refusal.</summary>
    public static EQueueException Refused(ErrorCode error, string group, QueueCursor cursor) =>
        new(error, $"{ErrorCodes.Describe(error)}: {group} at {cursor.Topic}/{cursor.Number}.");
}
