using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Asks a broker about places that were read in another history of its log.</summary>
internal static class HistoryCheck
{
    /// <summary>Has places judged, as many as one request takes.</summary>
    /// <exception cref="EQueueException">The request failed.</exception>
    public static async ValueTask<CheckHistoryResponse> JudgeAsync(
        BrokerLink link,
        LogHistory known,
        IReadOnlyList<HistoryPlace> places,
        TimeSpan timeout,
        CancellationToken cancellationToken)
    {
        CheckHistoryResponse answer =
            await link.InvokeAsync(new CheckHistoryRequest(known, places), timeout, cancellationToken)
            .ConfigureAwait(false);
        return answer.Forks.Count == places.Count
            ? answer
            : throw Faults.Malformed(Opcode.CheckHistory, link.Address.ToString());
    }

    /// <summary>Has places of other histories judged, and takes up what the broker says of them.</summary>
    /// <param name="session">Fetches the queues.</param>
    /// <param name="cursors">The queues.</param>
    /// <param name="gate">Guards them.</param>
    /// <param name="timeout">How long one request may take.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>The queues whose reader has come beyond the fork; null without any.</returns>
    public static async ValueTask<FetchedAnswer?> FindForksAsync(
        FetchSession session,
        QueueCursor[] cursors,
        Lock gate,
        TimeSpan timeout,
        CancellationToken cancellationToken)
    {
        FetchedAnswer? forks = null;
        foreach (IGrouping<LogHistory, QueueCursor> share in cursors.GroupBy(static cursor => cursor.History!))
        {
            foreach (QueueCursor[] some in share.Chunk(CheckHistoryRequest.MaxPlaces))
            {
                (QueueCursor Cursor, int Version, QueueOffset Farthest)[] asked;
                lock (gate)
                    asked = [.. some.Select(static one => (one, one.Version, one.Farthest))];
                HistoryPlace[] places =
                    Array.ConvertAll(asked, static one => new HistoryPlace(one.Cursor.Key, one.Farthest));
                CheckHistoryResponse answer = await JudgeAsync(
                    session.Link, share.Key, places, timeout, cancellationToken).ConfigureAwait(false);
                lock (gate)
                {
                    for (int i = 0; i < asked.Length; i++)
                    {
                        (QueueCursor cursor, int version, QueueOffset _) = asked[i];
                        if (cursor.Version != version || cursor.History != share.Key || cursor.IsRemoved)
                            continue;
                        if (!TryKeep(cursor, answer.Forks[i], answer.History))
                        {
                            (forks ??= new FetchedAnswer(session)).Queues.Add(new FetchedQueue(
                                cursor,
                                cursor.Version,
                                ErrorCode.DivergingEpoch,
                                cursor.FetchNext.Value,
                                answer.Forks[i].Value,
                                default));
                        }
                    }
                }
            }
        }

        return forks;
    }

    /// <summary>What was fetched of a queue stays, if it is before the fork. Under the session's gate.</summary>
    private static bool TryKeep(QueueCursor cursor, QueueOffset end, LogHistory history)
    {
        if (end != CheckHistoryResponse.Fits)
        {
            cursor.VisibleEnd = Math.Min(cursor.VisibleEnd, end.Value);
            cursor.StopAt = Math.Min(cursor.StopAt, end.Value); // -1 stays
        }

        if (end == CheckHistoryResponse.Fits || cursor.FetchNext <= end)
        {
            cursor.History = history;
            return true;
        }

        cursor.Fork = new HistoryFork(end, history);
        cursor.IsInSession = false;
        return false;
    }
}

/// <summary>Where a reader has come beyond what its history and the broker's have in common.</summary>
/// <param name="End">The first message of the queue that is another one now, or is yet to come.</param>
/// <param name="History">The broker's.</param>
internal sealed record HistoryFork(QueueOffset End, LogHistory History);
