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
        IReadOnlyList<QueuePlace> places,
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
}

/// <summary>Where a reader has come beyond what its history and the broker's have in common.</summary>
/// <param name="End">The first message of the queue that is another one now, or is yet to come.</param>
/// <param name="History">The broker's.</param>
internal sealed record HistoryFork(QueueOffset End, LogHistory History);
