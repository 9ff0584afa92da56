using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <content>By key: a bounded part of a queue for each request.</content>
internal sealed partial class OffsetHandler
{
    /// <summary>Bytes read for one look-up by key: an eighth of a second of the default budget for cold
    /// reads.</summary>
    internal const int MaxKeySearchBytes = 16 << 20;

    public async ValueTask<FindByKeyResponse> FindByKeyAsync(
        BrokerConnection peer, FindByKeyRequest request, CancellationToken cancellationToken)
    {
        Check(request);
        QueueId queue = request.Queue.Id;
        if (request.Queue.Log != 0 || !catalogue.TryFindByQueue(queue, out Topic? topic))
        {
            throw new EQueueException(
                ErrorCode.UnknownQueue, $"There is no queue {request.Queue.Log}/{queue.Value} here.");
        }

        PeerAccess.Of(peer).Check(Opcode.FindByKey, Permission.Read, ResourceKind.Topic, topic.Name);
        var question = new KeyQuestion(
            queue,
            request.Key,
            request.From,
            request.To == FindByKeyRequest.VisibleEnd ? new QueueOffset(long.MaxValue) : request.To,
            request.MaxCount,
            request.MaxBytes == 0 ? MaxKeySearchBytes : Math.Min(request.MaxBytes, MaxKeySearchBytes));
        KeyMatches found = await store.FindByKeyAsync(question, cancellationToken);
        return new FindByKeyResponse(
            found.Start, found.VisibleEnd, found.NextOffset, found.ReadBytes, found.UnreadableCount, found.Offsets);
    }

    private static void Check(FindByKeyRequest request)
    {
        if (request.Key.Length > FindByKeyRequest.MaxKeyBytes)
        {
            throw RequestRules.Invalid(
                $"A key has at most {FindByKeyRequest.MaxKeyBytes} bytes; asked for one of {request.Key.Length}.");
        }

        if (request.From.Value < 0 || request.To.Value < FindByKeyRequest.VisibleEnd.Value)
        {
            throw RequestRules.Invalid(
                "A look-up goes from an offset of 0 or more to one, or to -1 (the end); "
                + $"asked for {request.From} to {request.To}.");
        }

        if (request.MaxCount is < 1 or > FindByKeyRequest.MaxMessages || request.MaxBytes < 0)
        {
            throw RequestRules.Invalid(
                $"A look-up gives 1 to {FindByKeyRequest.MaxMessages} messages and reads 0 (the broker's bound) or "
                + $"more bytes; asked for {request.MaxCount} in {request.MaxBytes}.");
        }
    }
}
