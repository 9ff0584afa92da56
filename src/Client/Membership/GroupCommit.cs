using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Tells a broker how far a group has come.</summary>
internal static class GroupCommit
{
    /// <summary>Queues in one request: their state stays below what a broker takes at once.</summary>
    private const int MaxQueues = 1000;

    /// <summary>A commit is tried under so many openings of the log, should it be opened anew again and
    /// again.</summary>
    private const int MaxOpenings = 4;

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
        List<Place>? due = null;
        List<(QueueCursor, ErrorCode)>? refused = null;
        foreach (QueueCursor cursor in cursors)
        {
            // The history before the place: it is changed behind it.
            LogHistory? history = cursor.History;
            long next = places is null ? cursor.Processed : places[cursor];
            if (places is not null && cursor.HasForked && next > cursor.Delivered)
                (refused ??= []).Add((cursor, ErrorCode.DivergingEpoch));
            else if (next > cursor.Committed || (places is null && IsToldInAnother(cursor, history)))
                (due ??= []).Add(new Place(cursor, next, history));
        }

        if (due is null)
            return refused ?? [];
        foreach (Place[] share in due.Chunk(MaxQueues))
        {
            var terms = new CommitTerms(link, group, member, timeout, IsNamed: places is not null);
            foreach ((QueueCursor cursor, ErrorCode error)
                in await SendAsync(terms, share, cancellationToken).ConfigureAwait(false))
            {
                (refused ??= []).Add((cursor, error));
            }
        }

        return refused ?? [];
    }

    private static bool IsToldInAnother(QueueCursor cursor, LogHistory? history) =>
        history is not null && cursor.CommittedIn is { } told && told.Opening != history.Opening;

    /// <summary>Sends one share, under the opening of the broker's log that its places are of.</summary>
    private static async ValueTask<IReadOnlyList<(QueueCursor Cursor, ErrorCode Error)>> SendAsync(
        CommitTerms terms, Place[] share, CancellationToken cancellationToken)
    {
        for (int attempt = 1; ; attempt++)
        {
            HistoryMark? opening = terms.Link.History?.Opening;
            try
            {
                List<(QueueCursor, ErrorCode)> refused = [];
                Place[] fitting =
                    await SieveAsync(terms, share, opening, refused, cancellationToken).ConfigureAwait(false);
                if (fitting.Length > 0)
                    await SendAsync(terms, fitting, opening, refused, cancellationToken).ConfigureAwait(false);
                return refused;
            }
            catch (EQueueException exception)
                when (exception.Code == ErrorCode.DivergingEpoch && attempt < MaxOpenings)
            {
                // The log was opened anew in between.
            }
        }
    }

    /// <summary>Leaves out the places that the broker's log does not have: they were read in another history.</summary>
    private static async ValueTask<Place[]> SieveAsync(
        CommitTerms terms,
        Place[] share,
        HistoryMark? opening,
        List<(QueueCursor, ErrorCode)> refused,
        CancellationToken cancellationToken)
    {
        if (opening is null || Array.TrueForAll(share, one => one.History is null || one.History.Opening == opening))
            return share;
        List<Place> fitting = [];
        foreach (IGrouping<LogHistory?, Place> known in share.GroupBy(static one => one.History))
        {
            Place[] some = [.. known];
            if (known.Key is null || known.Key.Opening == opening)
            {
                fitting.AddRange(some);
                continue;
            }

            CheckHistoryResponse answer = await HistoryCheck.JudgeAsync(
                terms.Link,
                known.Key,
                Array.ConvertAll(some, static one => new HistoryPlace(one.Cursor.Key, new QueueOffset(one.Next))),
                terms.Timeout,
                cancellationToken).ConfigureAwait(false);
            if (answer.History.Opening != opening)
                throw new EQueueException(ErrorCode.DivergingEpoch);
            for (int i = 0; i < some.Length; i++)
            {
                if (answer.Forks[i] == CheckHistoryResponse.Fits)
                    fitting.Add(some[i]);
                else
                    refused.Add((some[i].Cursor, ErrorCode.DivergingEpoch));
            }
        }

        return [.. fitting];
    }

    private static async ValueTask SendAsync(
        CommitTerms terms,
        Place[] share,
        HistoryMark? opening,
        List<(QueueCursor, ErrorCode)> refused,
        CancellationToken cancellationToken)
    {
        var request = new CommitOffsetsRequest(terms.Group, terms.Member, [.. share.Select(one => new OffsetCommit(
            one.Cursor.Key,
            one.Cursor.Grant,
            new QueueOffset(one.Next),
            terms.IsNamed ? -1 : one.Cursor.LastEpoch, // the entry before a place may be long gone from memory
            null))]);
        CommitOffsetsResponse response = await terms.Link.InvokeObservedAsync(
            "commit", terms.Group, request, terms.Timeout, cancellationToken, opening).ConfigureAwait(false);
        if (response.Errors.Count != share.Length)
            throw Faults.Malformed(Opcode.CommitOffsets, terms.Link.Address.ToString());
        for (int i = 0; i < share.Length; i++)
        {
            // Behind what is committed: a member has processed it, which is all that a commit says.
            (QueueCursor cursor, long next, LogHistory? history) = share[i];
            if (response.Errors[i] is not (ErrorCode.None or ErrorCode.OffsetBehind))
            {
                refused.Add((cursor, response.Errors[i]));
            }
            else if (history?.Opening == cursor.History?.Opening)
            {
                cursor.Committed = next;
                cursor.CommittedIn = history;
            }
        }
    }

    /// <summary>What the application is told of a refusal.</summary>
    public static EQueueException Refused(ErrorCode error, string group, QueueCursor cursor) =>
        new(error, $"{ErrorCodes.Describe(error)}: {group} at {cursor.Topic}/{cursor.Number}.");

    /// <summary>Where a queue is to be committed, and the history in which it is a place.</summary>
    private readonly record struct Place(QueueCursor Cursor, long Next, LogHistory? History);

    /// <summary>What all requests of a commit have in common.</summary>
    private sealed record CommitTerms(BrokerLink Link, string Group, Guid Member, TimeSpan Timeout, bool IsNamed);
}
