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
    ModuleContext context, TopicCatalogue catalogue, BacklogTable backlogs, QuotaTable quotas)
{
    private const int MaxBatches = 65_536;

    /// <summary>What an entry of the log has before its batch.</summary>
    private const int EntryOverheadBytes = 48;

    private static readonly TimeSpan LonePause = TimeSpan.FromMicroseconds(50);

    private readonly QueueStore _store = context.Store;
    private readonly BrokerCounters _counters = context.Counters;
    private readonly BrokerOptions _options = context.Options;
    private readonly TimeProvider _time = context.Time;
    private readonly ProduceWaiterPool _pool = new(context.Counters);

    private readonly Durability _policyLevel =
        context.Options.Store.FlushPolicy == FlushPolicy.Sync ? Durability.Durable : Durability.Written;

    // Guesses of several threads: no lock, and none need be right.
    private BrokerConnection? _lastPeer;
    private long _lastRequestAt;

    public ValueTask HandleAsync(BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        Interlocked.Increment(ref _counters.ProduceRequests);
        if (!ProduceRequestHeader.TryRead(payload.Span, out ProduceRequestHeader head) || head.BatchCount > MaxBatches)
        {
            return Refuse(
                peer, header, ErrorCode.MalformedRequest, $"The {payload.Length} bytes are not a produce request.");
        }

        if (head.TransactionId != 0)
            return Refuse(peer, header, ErrorCode.InvalidArgument, "This broker has no transactions.");

        ReadOnlyMemory<byte> batches = payload[ProduceRequestHeader.Size..];
        if (!IsFilled(batches.Span, head.BatchCount))
        {
            return Refuse(
                peer,
                header,
                ErrorCode.MalformedRequest,
                $"The batches do not fill the {payload.Length} bytes exactly.");
        }

        return backlogs.IsFull && MustWait(batches.Span, head.BatchCount)
            ? WaitForParkedAsync(peer, header, head, payload)
            : Handle(peer, header, head, payload);
    }

    private ValueTask Handle(
        BrokerConnection peer, FrameHeader header, in ProduceRequestHeader head, ReadOnlyMemory<byte> payload)
    {
        ReadOnlyMemory<byte> batches = payload[ProduceRequestHeader.Size..];
        ValueTask room = peer.BeginRequestAsync();
        ProduceWaiter waiter = _pool.Rent();
        Durability level = head.Durability == Durability.Policy ? _policyLevel : head.Durability;
        waiter.Begin(peer, header, level, head.BatchCount);
        TimeSpan debt = quotas.ChargeProduce(peer, payload.Length);
        List<WaitingBatch>? waiting = Walk(waiter, batches, head, ref debt);
        waiter.HoldFor(debt, quotas.Throttle);
        ValueTask handling = TryAppend(waiter, level, isOnReceiveLoop: true)
            ? waiting is null ? room : WaitInLineAsync(peer, waiting, room)
            : ParkAsync(peer, waiter, level, head.DeadlineMs, waiting, room);
        return quotas.Throttle.PauseAsync(peer, handling, header.IsOneway ? debt : debt - Throttle.LongestWait);
    }

    public async ValueTask<InitProducerResponse> InitProducerAsync(
        BrokerConnection peer, InitProducerRequest request, CancellationToken cancellationToken)
    {
        if (request.TransactionalId is not null)
            throw RequestRules.Invalid("This broker has no transactions.");
        if (request.Known.Id < -1 || request.Known.Epoch < -1 || (request.Known.Id < 0) != (request.Known.Epoch < 0))
            throw RequestRules.Invalid($"There is no producer {request.Known.Id} with epoch {request.Known.Epoch}.");
        // Another's producer is as good as none: its epoch stays, and it is not told that it is there.
        var access = PeerAccess.Of(peer);
        ProducerSession known = access.OwnsProducer(request.Known.Id) ? request.Known : ProducerSession.None;
        return new InitProducerResponse(
            await _store.InitProducerAsync(known, access.ProducerIds, cancellationToken));
    }

    private static ValueTask Refuse(BrokerConnection peer, in FrameHeader header, ErrorCode error, string message)
    {
        peer.Refuse(header, error, message);
        return ValueTask.CompletedTask;
    }

    private static bool IsFilled(ReadOnlySpan<byte> rest, int batchCount)
    {
        for (int i = 0; i < batchCount; i++)
        {
            if (!ProduceBatchHeader.TryRead(rest, out ProduceBatchHeader header))
                return false;
            rest = rest[(ProduceBatchHeader.Size + header.BatchSize)..];
        }

        return rest.IsEmpty;
    }

    /// <summary>Judges the batches.</summary>
    /// <returns>Those that have to wait for room in their topic's backlog; null = none. They stand in line only when
    /// the store has the others: a batch that entered must not be overtaken by the next one of its queue.</returns>
    private List<WaitingBatch>? Walk(
        ProduceWaiter waiter, ReadOnlyMemory<byte> rest, in ProduceRequestHeader head, ref TimeSpan debt)
    {
        var access = PeerAccess.Of(waiter.Peer);
        List<WaitingBatch>? waiting = null;
        for (int i = 0; i < head.BatchCount; i++)
        {
            ProduceBatchHeader.TryRead(rest.Span, out ProduceBatchHeader header);
            ReadOnlyMemory<byte> batch = rest.Slice(ProduceBatchHeader.Size, header.BatchSize);
            rest = rest[(ProduceBatchHeader.Size + header.BatchSize)..];
            uint tagBits = header.TagBits;
            ErrorCode error = Check(access, header, batch, ref tagBits, out Topic? topic, out int messages);
            header = header with { TagBits = tagBits };
            if (error == ErrorCode.None)
                quotas.ChargeProduce(topic!, batch.Length, ref debt);
            if (error != ErrorCode.None)
                waiter.AddRefused(error);
            else if (topic!.Backlog is { } backlog)
                Enter(waiter, backlog, header, batch, messages, head.DeadlineMs, ref waiting);
            else
                waiter.AddBatch(header, batch, messages);
        }

        return waiting;
    }

    private ErrorCode Check(
        PeerAccess access,
        in ProduceBatchHeader header,
        ReadOnlyMemory<byte> batch,
        ref uint tagBits,
        out Topic? topic,
        out int messages)
    {
        messages = 0;
        topic = null;
        if (header.Log != 0 || !catalogue.TryFindByQueue(header.Queue, out topic))
            return ErrorCode.UnknownQueue;
        if (!access.PermitWrite(topic))
            return ErrorCode.NotAuthorized;
        return BatchRules.Check(
            batch,
            access,
            _options.Limits,
            _options.Store.MaxBatchBytes,
            topic.MaxMessageBytes,
            ref tagBits,
            out messages);
    }

    /// <summary>Lets a batch into the backlog of its topic, puts it in line, or refuses it.</summary>
    private void Enter(
        ProduceWaiter waiter,
        TopicBacklog backlog,
        in ProduceBatchHeader header,
        ReadOnlyMemory<byte> batch,
        int messages,
        int deadlineMs,
        ref List<WaitingBatch>? waiting)
    {
        int bytes = EntryOverheadBytes + batch.Length;
        bool isBehindOwn = waiting is not null && waiter.WaitsFor(backlog);
        BacklogVerdict verdict = backlog.Enter(
            header.Queue, messages, bytes, isBehindOwn, out BacklogTicket ticket);
        if (verdict == BacklogVerdict.Enters)
        {
            waiter.AddBatch(header, batch, messages, backlog, ticket);
            return;
        }

        // What is stored already, and what the store will refuse anyway, needs no room.
        ErrorCode known = _store.CheckSequence(header.Queue, batch.Span);
        if (known is ErrorCode.DuplicateSequence or ErrorCode.ProducerFenced or ErrorCode.UnknownProducer)
        {
            waiter.AddBatch(header, batch, messages);
            return;
        }

        // Said here, not by the store: without room nothing may go there that could be stored after all.
        if (verdict != BacklogVerdict.Waits || known == ErrorCode.QueueNotWritable)
        {
            waiter.AddRefused(known == ErrorCode.QueueNotWritable ? known : backlog.Refuse(verdict));
            return;
        }

        TimeSpan wait = _options.Limits.MaxBacklogWait;
        if (deadlineMs > 0 && deadlineMs < wait.TotalMilliseconds)
            wait = TimeSpan.FromMilliseconds(deadlineMs);
        WaitingBatch one = waiter.AddWaiting(backlogs, backlog, header, batch, messages, ticket);
        backlogs.BeginWait(one, wait);
        (waiting ??= []).Add(one);
    }

    /// <summary>Whether a batch would wait for room in its backlog: then it needs memory for that.</summary>
    private bool MustWait(ReadOnlySpan<byte> rest, int batchCount)
    {
        for (int i = 0; i < batchCount; i++)
        {
            ProduceBatchHeader.TryRead(rest, out ProduceBatchHeader header);
            ReadOnlySpan<byte> batch = rest.Slice(ProduceBatchHeader.Size, header.BatchSize);
            rest = rest[(ProduceBatchHeader.Size + header.BatchSize)..];
            if (header.Log == 0
                && catalogue.TryFindByQueue(header.Queue, out Topic? topic)
                && topic.Backlog is { } backlog
                && RecordBatch.Check(batch, out RecordBatchHeader records) == ErrorCode.None
                && backlog.MustWait(header.Queue, records.RecordsCount, EntryOverheadBytes + batch.Length))
            {
                return true;
            }
        }

        return false;
    }

    private async ValueTask WaitForParkedAsync(
        BrokerConnection peer, FrameHeader header, ProduceRequestHeader head, ReadOnlyMemory<byte> payload)
    {
        await backlogs.WaitForRoomAsync(peer.Closed);
        await Handle(peer, header, head, payload);
    }

    private ValueTask WaitInLineAsync(BrokerConnection peer, List<WaitingBatch> waiting, ValueTask room)
    {
        foreach (WaitingBatch batch in waiting)
            backlogs.Park(batch);
        return backlogs.IsFull ? WaitForParkedAsync(peer, room) : room;
    }

    private async ValueTask WaitForParkedAsync(BrokerConnection peer, ValueTask room)
    {
        await room;
        await backlogs.WaitForRoomAsync(peer.Closed);
    }

    /// <summary>Offers the batches to the store. After true the waiter may be another request's already.</summary>
    private bool TryAppend(ProduceWaiter waiter, Durability level, bool isOnReceiveLoop)
    {
        Span<AppendItem> items = waiter.Items;
        if (items.IsEmpty)
        {
            waiter.CompleteUnstored(ErrorCode.None, isOnReceiveLoop);
            return true;
        }

        bool mayWrite = isOnReceiveLoop && IsLone(waiter.Peer);
        switch (_store.Append(items, level, waiter, mayWrite))
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

    /// <summary>Whether neither its own connection nor another is about to send more: of what comes together the store
    /// makes groups, but a lone request is written at once. Notes that it came.</summary>
    private bool IsLone(BrokerConnection peer)
    {
        long now = _time.GetTimestamp();
        bool isAlone = _lastPeer == peer || _time.GetElapsedTime(_lastRequestAt, now) >= LonePause;
        _lastPeer = peer;
        _lastRequestAt = now;
        return isAlone && !peer.Transport.HasMoreAtHand;
    }

    private async ValueTask ParkAsync(
        BrokerConnection peer,
        ProduceWaiter waiter,
        Durability level,
        int deadlineMs,
        List<WaitingBatch>? waiting,
        ValueTask room)
    {
        TimeSpan wait = _options.Limits.MaxProduceWait;
        if (deadlineMs > 0 && deadlineMs < wait.TotalMilliseconds)
            wait = TimeSpan.FromMilliseconds(deadlineMs);
        using var deadline = new CancellationTokenSource(wait, _time);
        using var ended = CancellationTokenSource.CreateLinkedTokenSource(deadline.Token, peer.Closed);
        Interlocked.Increment(ref _counters.ParkedProduces);
        try
        {
            do
            {
                await _store.WaitForRoomAsync(ended.Token);
                ended.Token.ThrowIfCancellationRequested();
            }
            while (!TryAppend(waiter, level, isOnReceiveLoop: false));
        }
        catch (OperationCanceledException) when (peer.IsClosed)
        {
            waiter.Abandon();
        }
        catch (OperationCanceledException) when (ended.IsCancellationRequested)
        {
            ErrorCode cause = _store.Figures.IsReadOnly ? ErrorCode.StorageFull : ErrorCode.Timeout;
            waiter.CompleteUnstored(cause, isOnReceiveLoop: false);
        }
        catch (EQueueException exception)
        {
            waiter.CompleteUnstored(exception.Code, isOnReceiveLoop: false);
        }

        finally
        {
            Interlocked.Decrement(ref _counters.ParkedProduces);
        }

        if (waiting is not null)
            await WaitInLineAsync(peer, waiting, peer.IsClosed ? default : room);
        else if (!peer.IsClosed)
            await room;
    }
}
