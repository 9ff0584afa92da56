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
            HistoryPlace place = request.Places[i];
            if (await FindAsync(place.Queue, fork, cancellationToken) is { } end && place.Next > end)
                forks[i] = end;
        }

        return new CheckHistoryResponse(store.History, forks);
    }

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
            return null; // removed meanwhile: its reader is told
        }
    }
}
