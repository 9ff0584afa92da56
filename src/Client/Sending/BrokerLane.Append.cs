using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <content>Messages come in: the open batch of their queue takes them.</content>
internal sealed partial class BrokerLane
{
    /// <summary>Frame bytes that are not the batch: remoting's header and the request's.</summary>
    private const int FrameOverhead = FrameHeader.Size + SendBatch.HeaderRoom;

    /// <summary>What batches of several messages keep to before the broker has told its limit.</summary>
    private const int SafeBatchBytes = 1024 * 1024;

    /// <summary>Puts a message into the open batch of a queue.</summary>
    /// <param name="queue">One of this lane.</param>
    /// <param name="content">Encoded at once; nothing of it is kept.</param>
    /// <param name="mayMove">Whether another queue will do as well once this one's batch is full.</param>
    /// <param name="callback">Told of the outcome instead of an awaitable; null for an awaitable.</param>
    /// <param name="state">For the callback.</param>
    /// <param name="awaitable">The batch and the token of the message's awaitable; the token is 0 with a
    /// callback.</param>
    public AppendStatus TryAppend(
        QueueLane queue,
        in RecordContent content,
        bool mayMove,
        SendCallback? callback,
        object? state,
        out Awaitable awaitable)
    {
        awaitable = default;
        bool mustDispatch;
        AppendStatus status = AppendStatus.Appended;
        using (_gate.Enter())
        {
            if (_isClosed)
                return AppendStatus.Closed;
            SendBatch? batch = queue.Open;
            if (batch is null || !TryJoin(batch, content))
                status = Renew(queue, content, mayMove, ref batch);
            if (status == AppendStatus.Appended)
            {
                if (callback is null)
                    awaitable = new Awaitable(batch!, batch!.Issue());
                else
                    batch!.Issue(callback, state);
            }

            mustDispatch = MustDispatch();
        }

        if (mustDispatch)
            Dispatch();
        return status;
    }

    /// <summary>Puts neighbours of one call into the open batch of a queue: as many as it takes.</summary>
    /// <returns>Messages taken; the status tells why it was not the rest.</returns>
    public int TryAppendRun(
        QueueLane queue,
        MessageEncoder messages,
        int from,
        int to,
        bool mayMove,
        out AppendStatus status,
        out Awaitable awaitable)
    {
        awaitable = default;
        int taken = 0;
        bool mustDispatch;
        using (_gate.Enter())
        {
            status = AppendStatus.Closed;
            if (_isClosed)
                return 0;
            status = AppendStatus.Appended;
            while (from + taken < to)
            {
                RecordContent content = messages.Encode(from + taken);
                SendBatch? batch = queue.Open;
                if (batch is null || !TryJoin(batch, content))
                {
                    // A full batch ends the run; the first message of a run opens one.
                    if (taken > 0)
                        break;
                    status = Renew(queue, content, mayMove, ref batch);
                    if (status != AppendStatus.Appended)
                        break;
                }

                if (taken++ == 0)
                    awaitable = new Awaitable(batch!, batch!.Issue());
            }

            mustDispatch = MustDispatch();
        }

        if (mustDispatch)
            Dispatch();
        return taken;
    }

    private bool TryJoin(SendBatch batch, in RecordContent content) =>
        !MustPart(batch, content) && batch.TryAppend(content);

    /// <summary>Where there are other brokers, messages with keys keep to themselves: they wait for theirs, and the
    /// others must not have to.</summary>
    private bool MustPart(SendBatch batch, in RecordContent content) =>
        _hasOthers && batch.HasKeys != content.Key.HasValue;

    private bool MustDispatch() =>
        _isReady && !_isDispatching && _inFlight < _options.MaxInFlight && (_ready.Count > 0 || MayCloseOpen);

    /// <summary>Closes a batch that takes no more and opens one with <paramref name="content"/>. Under the
    /// gate.</summary>
    private AppendStatus Renew(QueueLane queue, in RecordContent content, bool mayMove, ref SendBatch? batch)
    {
        if (batch is not null)
        {
            CloseBatch(queue, wasFull: !MustPart(batch, content));
            if (mayMove && queue.Topic.Sticky != queue)
                return AppendStatus.Moved;
        }

        AppendStatus status = TryOpen(queue, content, out batch);
        if (status != AppendStatus.Appended)
            return status;
        queue.Open = batch;
        NoteOpen(queue);
        ArmSweep(After(_sweepInterval));
        return AppendStatus.Appended;
    }

    /// <summary>Opens a batch with its first message. Under the gate.</summary>
    private AppendStatus TryOpen(QueueLane queue, in RecordContent content, out SendBatch? batch)
    {
        batch = null;
        bool isTraced = ClientTrace.IsListenedTo;
        long size = RecordBatchLayout.HeaderSize + RecordBatchBuilder.SizeOf(content, 0, 0);
        if (isTraced && TraceStamp.Sampled is { } activity)
            size += TraceStamp.MostBytes(activity);

        // The builder's short form writes up to 16 bytes beyond a record: room for them makes any message fit its own
        // batch.
        long alone = size + FrameOverhead + 16;
        int maxBatchBytes = MaxBatchBytes;
        if ((maxBatchBytes > 0 && size > maxBatchBytes) || alone > Array.MaxLength)
            return AppendStatus.TooLarge;
        int most = Math.Min(queue.Bound?.MaxBytes ?? int.MaxValue, maxBatchBytes > 0 ? maxBatchBytes : SafeBatchBytes);
        int usual = Math.Min(queue.BufferBytes, FrameOverhead + most);
        int bytes = (int)Math.Max(alone, usual);
        if (!Budget.TryReserve(bytes))
            return AppendStatus.NoRoom;
        batch = _producer.RentBatch();
        batch.Open(
            queue,
            FrameBuffer.Rent(bytes - FrameHeader.Size),
            maxBatchBytes > 0 ? Math.Min(bytes - FrameOverhead, maxBatchBytes) : bytes - FrameOverhead,
            _time.GetUtcNow().ToUnixTimeMilliseconds(),
            _time.GetTimestamp(),
            bytes,
            isTraced);
        if (!batch.TryAppend(content))
            throw new InvalidOperationException($"A message of {size} bytes does not fit into a batch made for it.");
        return AppendStatus.Appended;
    }

    /// <summary>Moves the open batch to the pending ones. Under the gate.</summary>
    private void CloseBatch(QueueLane queue, bool wasFull)
    {
        SendBatch batch = queue.Open!;
        queue.Open = null;
        queue.Add(batch);
        queue.Learn(batch, wasFull && queue.Bound is null, _options.BatchBytes);
        queue.Topic.OnBatchClosed(queue, batch.Size);
        List(queue);
    }

    private void List(QueueLane queue)
    {
        if (!queue.TryCloseGap())
            BeginRenewal(Renewal.NextEpoch, $"a batch for {queue} was given up and an answer of that queue was lost");
        if (queue.IsListed || queue.First is null)
            return;
        queue.IsListed = true;
        _ready.Enqueue(queue);
    }
}
