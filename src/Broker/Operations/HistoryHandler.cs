using System.Buffers.Binary;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Tells the history of the log, and where it parts from one that a reader knew (docs/history.md).</summary>
internal sealed class HistoryHandler(QueueStore store, TopicCatalogue catalogue)
{
    public async ValueTask<CheckHistoryResponse> CheckAsync(
        BrokerConnection peer, CheckHistoryRequest request, CancellationToken cancellationToken)
    {
        if (request.Known.Epochs.Count > LogHistory.MaxEpochs || request.Places.Count > CheckHistoryRequest.MaxPlaces)
        {
            throw RequestRules.Invalid(
                $"At most {LogHistory.MaxEpochs} epochs and {CheckHistoryRequest.MaxPlaces} places are judged at once; "
                + $"found {request.Known.Epochs.Count} and {request.Places.Count}.");
        }

        RequestRules.CheckNamedOnce(request.Places, "Place");
        var forks = new QueueOffset[request.Places.Count];
        Array.Fill(forks, CheckHistoryResponse.Fits);
        long fork = request.Known.Epochs.Count == 0 ? LogHistory.NoFork : store.History.ForkFrom(request.Known);
        for (int i = 0; i < forks.Length && fork != LogHistory.NoFork; i++)
        {
            QueuePlace place = request.Places[i];
            if (await FindAsync(place.Queue, fork, cancellationToken) is { } end && place.Next > end)
                forks[i] = end;
        }

        return new CheckHistoryResponse(store.History, forks);
    }

    /// <summary>Takes the opening off the head of a marked request.</summary>
    /// <param name="opening">This one.</param>
    /// <param name="version">Of the request.</param>
    /// <param name="payload">Its body; behind the mark afterwards.</param>
    /// <returns>DivergingEpoch: its places are of another opening, or may be; MalformedRequest: it has no mark.
    /// </returns>
    public static ErrorCode TakeMark(HistoryMark opening, byte version, ref ReadOnlyMemory<byte> payload)
    {
        if (version < OperationVersions.Marked)
            return ErrorCode.None;
        if (payload.Length < HistoryMark.Size)
            return ErrorCode.MalformedRequest;
        ReadOnlySpan<byte> head = payload.Span;
        var named = new HistoryMark(
            BinaryPrimitives.ReadInt32LittleEndian(head), BinaryPrimitives.ReadUInt32LittleEndian(head[4..]));
        payload = payload[HistoryMark.Size..];
        return named == opening ? ErrorCode.None : ErrorCode.DivergingEpoch;
    }

    /// <summary>What a request of another opening is told.</summary>
    public static string OtherOpening(HistoryMark opening) =>
        $"The log was opened anew as epoch {opening.Epoch}: check the places against its history (CheckHistory).";

    private async ValueTask<QueueOffset?> FindAsync(
        QueueKey queue, long position, CancellationToken cancellationToken)
    {
        if (queue.Log != 0 || !catalogue.TryFindByQueue(queue.Id, out _))
            return null;
        try
        {
            return await store.FindOffsetAtAsync(queue.Id, new LogPosition(position), cancellationToken);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.UnknownQueue)
        {
            return null; // removed meanwhile: whoever reads it is told
        }
    }
}
