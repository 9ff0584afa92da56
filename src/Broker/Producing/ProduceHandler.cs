using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>Stores batches. The hot path: nothing is allocated and nothing waits while the store has room.</summary>
/// <remarks>
/// Batches are copied by the store before the call returns, so the payload is lent no longer than that. When the store
/// has no room the connection's receive loop waits here: that is the sender's back-pressure.
/// </remarks>
internal sealed class ProduceHandler(
    QueueStore store, TopicCatalogue catalogue, BrokerCounters counters, BrokerOptions options, TimeProvider time)
{
    private const int MaxBatches = 65_536;

    private readonly ProduceWaiterPool _pool = new(counters);

    private readonly Durability _policyLevel =
        options.Store.FlushPolicy == FlushPolicy.Sync ? Durability.Durable : Durability.Written;

    public ValueTask HandleAsync(BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        Interlocked.Increment(ref counters.ProduceRequests);
        if (!ProduceRequestHeader.TryRead(payload.Span, out ProduceRequestHeader head) || head.BatchCount > MaxBatches)
            return Refuse(
                peer, header, ErrorCode.MalformedRequest, $"The {payload.Length} bytes are not a produce request.");
        if (head.TransactionId != 0)
            return Refuse(peer, header, ErrorCode.InvalidArgument, "This broker has no transactions.");

        ValueTask room = peer.BeginRequestAsync();
        ProduceWaiter waiter = _pool.Rent();
        Durability level = head.Durability == Durability.Policy ? _policyLevel : head.Durability;
        waiter.Begin(peer, header, level, head.BatchCount);
        if (!TryWalk(waiter, payload[ProduceRequestHeader.Size..], head.BatchCount))
        {
            waiter.Abandon();
            return Refuse(
                peer,
                header,
                ErrorCode.MalformedRequest,
                $"The batches do not fill the {payload.Length} bytes exactly.");
        }

        return TryAppend(waiter, level, isOnReceiveLoop: true)
            ? room
            : ParkAsync(peer, waiter, level, head.DeadlineMs, room);
    }

    public async ValueTask<InitProducerResponse> InitProducerAsync(
        BrokerConnection peer, InitProducerRequest request, CancellationToken cancellationToken)
    {
        if (request.TransactionalId is not null)
            throw TopicRules.Invalid("This broker has no transactions.");
        if (request.Known.Id < -1 || request.Known.Epoch < -1 || (request.Known.Id < 0) != (request.Known.Epoch < 0))
            throw TopicRules.Invalid($"There is no producer {request.Known.Id} with epoch {request.Known.Epoch}.");
        return new InitProducerResponse(await store.InitProducerAsync(request.Known, cancellationToken));
    }

    private static ValueTask Refuse(BrokerConnection peer, in FrameHeader header, ErrorCode error, string message)
    {
        peer.Refuse(header, error, message);
        return ValueTask.CompletedTask;
    }

    private bool TryWalk(ProduceWaiter waiter, ReadOnlyMemory<byte> rest, int batchCount)
    {
        for (int i = 0; i < batchCount; i++)
        {
            if (!ProduceBatchHeader.TryRead(rest.Span, out ProduceBatchHeader header))
                return false;
            ReadOnlyMemory<byte> batch = rest.Slice(ProduceBatchHeader.Size, header.BatchSize);
            rest = rest[(ProduceBatchHeader.Size + header.BatchSize)..];
            int messages = 0;
            ErrorCode error = header.Log == 0 && catalogue.TryFindByQueue(header.Queue, out Topic? topic)
                ? BatchRules.Check(batch.Span, options.Store.MaxBatchBytes, topic.MaxMessageBytes, out messages)
                : ErrorCode.UnknownQueue;
            if (error == ErrorCode.None)
                waiter.AddBatch(header, batch, messages);
            else
                waiter.AddRefused(error);
        }

        return rest.IsEmpty;
    }

    /// <summary>Offers the batches to the store. After true the waiter may be somebody else's already.</summary>
    private bool TryAppend(ProduceWaiter waiter, Durability level, bool isOnReceiveLoop)
    {
        Span<AppendItem> items = waiter.Items;
        if (items.IsEmpty)
        {
            waiter.CompleteUnstored(ErrorCode.None, isOnReceiveLoop);
            return true;
        }

        switch (store.Append(items, level, waiter))
        {
            case AppendStatus.Accepted:
                return true;
            case AppendStatus.Nothing:
                waiter.CompleteUnstored(ErrorCode.None, isOnReceiveLoop);
                return true;
            default:
                return false;
        }
    }

    private async ValueTask ParkAsync(
        BrokerConnection peer, ProduceWaiter waiter, Durability level, int deadlineMs, ValueTask room)
    {
        TimeSpan wait = options.Limits.MaxProduceWait;
        if (deadlineMs > 0 && deadlineMs < wait.TotalMilliseconds)
            wait = TimeSpan.FromMilliseconds(deadlineMs);
        using var deadline = new CancellationTokenSource(wait, time);
        using var ended = CancellationTokenSource.CreateLinkedTokenSource(deadline.Token, peer.Closed);
        Interlocked.Increment(ref counters.ParkedProduces);
        try
        {
            do
            {
                await store.WaitForRoomAsync(ended.Token);
                ended.Token.ThrowIfCancellationRequested();
            }
            while (!TryAppend(waiter, level, isOnReceiveLoop: false));
        }
        catch (OperationCanceledException) when (peer.IsClosed)
        {
            waiter.Abandon();
            return;
        }
        catch (OperationCanceledException) when (ended.IsCancellationRequested)
        {
            ErrorCode cause = store.Figures.IsReadOnly ? ErrorCode.StorageFull : ErrorCode.Timeout;
            waiter.CompleteUnstored(cause, isOnReceiveLoop: false);
        }
        catch (EQueueException exception)
        {
            waiter.CompleteUnstored(exception.Code, isOnReceiveLoop: false);
        }

        finally
        {
            Interlocked.Decrement(ref counters.ParkedProduces);
        }

        await room;
    }
}
