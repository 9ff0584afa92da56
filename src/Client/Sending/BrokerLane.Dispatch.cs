using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <content>
/// Batches go out: one thread at a time takes them under the gate and encodes and sends them outside.
/// </content>
internal sealed partial class BrokerLane
{
    /// <summary>An answer that a request has waited in vain is on its way before its time is over here.</summary>
    private static readonly TimeSpan AnswerMargin = TimeSpan.FromSeconds(5);

    private bool _isDispatching;
    private int _inFlight;
    private long _sentRequests;

    /// <summary>Batches below this are gathered into one frame, which costs a copy.</summary>
    private int SmallBatchBytes => _options.BatchBytes / 4;

    /// <summary>Sends what may be sent. Any thread; never blocks on the network.</summary>
    private void Dispatch()
    {
        using (_gate.Enter())
        {
            if (_isDispatching)
                return;
            _isDispatching = true;
        }

        while (true)
        {
            ProduceRequest? request;
            using (_gate.Enter())
            {
                request = TakeRequest();
                if (request is null)
                {
                    // Whoever makes something sendable later finds nobody dispatching and does it.
                    _isDispatching = false;
                    return;
                }
            }

            Send(request);
        }
    }

    /// <summary>Takes the batches of the next request; null when nothing may leave now. Under the gate.</summary>
    private ProduceRequest? TakeRequest()
    {
        if (!_isReady || _isClosed || _inFlight >= _options.MaxInFlight || _freeRequests.Count == 0)
            return null;
        if (!_link.Remoting.IsConnected)
        {
            // Nothing is handed to a connection that is not there: what was never sent may go elsewhere.
            if (_ready.Count > 0 || HasOpen())
                BeAway(_generation);
            return null;
        }

        long now = _time.GetTimestamp();
        CloseOpen(now);
        SendBatch? batch = TakeSendable(now, int.MaxValue, int.MaxValue);
        if (batch is null)
            return null;

        ProduceRequest request = _freeRequests.Pop();
        request.Batches.Add(batch);
        int size = batch.Size;
        int records = batch.RecordCount;
        if (size <= SmallBatchBytes)
        {
            // What may have to wait for room is answered soon: no more of it together than one batch may hold.
            SendBound? bound = batch.Queue.Bound;
            while (size < _options.BatchBytes
                && TakeSendable(
                    now,
                    Math.Min(SmallBatchBytes, bound is null ? int.MaxValue : bound.MaxBytes - size),
                    bound is null ? int.MaxValue : bound.MaxRecords - records) is { } more)
            {
                request.Batches.Add(more);
                size += more.Size;
                records += more.RecordCount;
            }
        }

        _inFlight++;
        _sentRequests++;
        _lastSentAt = request.TakenAt = now;
        return request;
    }

    /// <summary>Takes the next batch of the queue whose turn it is; null, and it stays its turn, when that is larger.
    /// Under the gate.</summary>
    private SendBatch? TakeSendable(long now, int maxSize, int maxRecords)
    {
        for (int turns = _ready.Count; turns > 0; turns--)
        {
            QueueLane queue = _ready.Peek();
            SendBatch? batch = queue.FindNext(now, _window, _renewal != Renewal.None);
            if (batch is null)
            {
                // An answer, the timer or the new session lists it again.
                _ready.Dequeue();
                queue.IsListed = false;
                continue;
            }

            if (batch.Size > maxSize || batch.RecordCount > maxRecords)
                return null;
            _ready.Dequeue();
            if (batch.State == BatchState.Unknown)
                _unknownCount--;
            batch.WasHead = queue.First == batch;
            batch.State = BatchState.Sent;
            batch.Attempts++;
            queue.AssignSequence(batch, _session);
            if (queue.FindNext(now, _window, _renewal != Renewal.None) is null)
                queue.IsListed = false;
            else
                _ready.Enqueue(queue);
            return batch;
        }

        return null;
    }

    private void Send(ProduceRequest request)
    {
        TimeSpan timeout = TimeoutOf(request);
        int deadlineMs = (int)Math.Min(timeout.TotalMilliseconds, int.MaxValue);
        var header = new ProduceRequestHeader(
            _options.Durability, deadlineMs, TransactionId: 0, request.Batches.Count);
        foreach (SendBatch batch in request.Batches)
            batch.Encode(_packer);
        FrameBuffer frame =
            request.Batches.Count == 1 ? request.Batches[0].ToRequest(header) : Gather(request.Batches, header);
        request.Generation = _link.Remoting.ConnectionGeneration;
        ObserveLeaving(request);
        _link.Remoting.Invoke(
            frame,
            (byte)Opcode.Produce,
            0,
            _isBounded ? timeout + AnswerMargin : timeout,
            this,
            request.Index,
            inlineAllowed: false);
    }

    /// <summary>One frame for many small batches: a copy of each.</summary>
    private static FrameBuffer Gather(List<SendBatch> batches, in ProduceRequestHeader header)
    {
        int size = ProduceRequestHeader.Size;
        foreach (SendBatch batch in batches)
            size += ProduceBatchHeader.Size + batch.Size;
        var frame = FrameBuffer.Rent(size);
        header.Write(frame.Reserve(ProduceRequestHeader.Size));
        foreach (SendBatch batch in batches)
        {
            batch.WriteBatchHeader(frame.Reserve(ProduceBatchHeader.Size));
            batch.Bytes.CopyTo(frame.Reserve(batch.Size));
        }

        return frame;
    }

    /// <summary>How long a request may take: no longer than its oldest batch has left. One that may have to wait for
    /// room is sent once: that its connection lives is the keep-alive's to find out.</summary>
    private TimeSpan TimeoutOf(ProduceRequest request)
    {
        long oldest = long.MaxValue;
        foreach (SendBatch batch in request.Batches)
            oldest = Math.Min(oldest, batch.CreatedAt);
        TimeSpan left = _options.DeliveryTimeout - _time.GetElapsedTime(oldest);
        TimeSpan timeout = _isBounded || left < _options.RequestTimeout ? left : _options.RequestTimeout;
        return timeout < TimeSpan.FromMilliseconds(1) ? TimeSpan.FromMilliseconds(1) : timeout;
    }
}
