using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Asks a broker for places in its log, each with the history in which it is a place.</summary>
/// <param name="link">The connection.</param>
/// <param name="timeout">How long one request may take.</param>
internal sealed class PlaceSearch(BrokerLink link, TimeSpan timeout)
{
    /// <summary>Asks for an offset, waiting for the broker as long as a request may take.</summary>
    /// <returns>The offset, and the history of the log in which it was found.</returns>
    public async ValueTask<(QueueOffset Offset, LogHistory? History)> FindOffsetAsync(
        OffsetQuestion question, CancellationToken cancellationToken)
    {
        (QueueOffset[] offsets, LogHistory? history) =
            await FindOffsetsAsync([question], cancellationToken).ConfigureAwait(false);
        return (offsets[0], history);
    }

    /// <summary>Asks for offsets; fails with the first that cannot be told.</summary>
    /// <returns>The offsets, and the history of the log in which they were found.</returns>
    public async ValueTask<(QueueOffset[] Offsets, LogHistory? History)> FindOffsetsAsync(
        IReadOnlyList<OffsetQuestion> questions, CancellationToken cancellationToken)
    {
        (FindOffsetsResponse response, LogHistory? history) = await InOneHistoryAsync(
            () => link.InvokeAsync(new FindOffsetsRequest(questions), timeout, cancellationToken),
            cancellationToken).ConfigureAwait(false);
        if (response.Answers.Count != questions.Count)
            throw Faults.Malformed(Opcode.FindOffsets, link.Address.ToString());
        QueueOffset[] offsets = [.. response.Answers.Select(static answer =>
            answer.Error == ErrorCode.None ? answer.Offset : throw new EQueueException(answer.Error))];
        return (offsets, history);
    }

    /// <summary>Asks something about places until the question and its answer went over one connection, so that the
    /// answer belongs to one history.</summary>
    public async ValueTask<(T Answer, LogHistory? History)> InOneHistoryAsync<T>(
        Func<ValueTask<T>> ask, CancellationToken cancellationToken)
    {
        while (true)
        {
            if (link.Hello is null)
                await link.ConnectAsync(timeout, cancellationToken).ConfigureAwait(false);
            LogHistory? history = link.History;
            T answer = await ask().ConfigureAwait(false);
            if (link.History?.Opening == history?.Opening)
                return (answer, history);
        }
    }
}
