using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Tells a broker how far a group has come.</summary>
internal static class GroupCommit
{
    /// <summary>Commits the processed offsets of queues where they differ from what is committed.</summary>
    /// <exception cref="EQueueException">The whole request failed, or the first queue that did.</exception>
    public static async ValueTask SendAsync(
        BrokerLink link,
        string group,
        Guid member,
        IReadOnlyList<QueueCursor> cursors,
        TimeSpan timeout,
        CancellationToken cancellationToken)
    {
        List<(QueueCursor Cursor, long Next)>? due = null;
        foreach (var cursor in cursors)
        {
            var processed = cursor.Processed;
            if (processed != cursor.Committed)
                (due ??= []).Add((cursor, processed));
        }

        if (due is null)
            return;
        var request = new CommitOffsetsRequest(
            group,
            member,
            [.. due.Select(static one => new OffsetCommit(
                one.Cursor.Key, one.Cursor.Grant, new QueueOffset(one.Next), one.Cursor.LastEpoch, null))]);
        var response = await link.InvokeAsync(request, timeout, cancellationToken).ConfigureAwait(false);
        if (response.Errors.Count != due.Count)
            throw Faults.Malformed(Opcode.CommitOffsets, link.Address.ToString());
        EQueueException? failure = null;
        for (var i = 0; i < due.Count; i++)
        {
            var (cursor, next) = due[i];
            var error = response.Errors[i];
            if (error == ErrorCode.None)
                cursor.Committed = next;
            else
                failure ??= Refused(error, group, cursor);
        }

        if (failure is not null)
            throw failure;
    }

    private static EQueueException Refused(ErrorCode error, string group, QueueCursor cursor) =>
        new(error, $"{ErrorCodes.Describe(error)}: {group} at {cursor.Topic}/{cursor.Number}.");
}
