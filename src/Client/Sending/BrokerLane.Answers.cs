using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <content>Answers come back: batches are settled, or wait to be sent again under the same sequence.</content>
internal sealed partial class BrokerLane
{
    /// <summary>Times that a batch is sent again because its bytes arrived damaged.</summary>
    private const int MaxCorruptAttempts = 3;

    private EQueueException? _closeFailure;

    /// <inheritdoc/>
    void IResponseSink.OnResponse(long token, ResponseFrame response)
    {
        ProduceRequest request = _requests[token];
        using (response)
        {
            ReadOnlySpan<byte> payload = response.PayloadSpan;
            if (response.Header.Error != 0)
            {
                EQueueException failure = _link.FaultOf(response);
                bool isLost = failure.Code == ErrorCode.ConnectionLost;
                FailRequest(request, failure, isUnknown: isLost);
                if (isLost)
                    Reconnect(request.Generation);
            }
            else if (!ProduceResponse.TryReadHeader(payload, out _, out int count) || count != request.Batches.Count)
            {
                FailRequest(request, Faults.Malformed(Opcode.Produce, Address.ToString()), isUnknown: true);
            }
            else
            {
                ObserveAnswer(request, null);
                using (_gate.Enter())
                {
                    for (int i = 0; i < count; i++)
                    {
                        var result = ProduceResult.Read(
                            payload[(ProduceResponse.HeaderSize + (i * ProduceResult.Size))..]);
                        OnResult(request, request.Batches[i], result);
                    }

                    NoteTrip(request.TakenAt);
                    EndRequest();
                }
            }
        }

        Finish(request);
    }

    /// <inheritdoc/>
    void IResponseSink.OnFailure(long token, RemotingException exception)
    {
        ProduceRequest request = _requests[token];
        bool wasNotSent = exception.Error is RemotingError.TooLarge or RemotingError.Unreachable;
        FailRequest(request, _link.FaultOf(exception), isUnknown: !wasNotSent);
        if (exception.Error is RemotingError.ConnectionLost or RemotingError.Unreachable)
            Reconnect(request.Generation);
        Finish(request);
    }

    private void Finish(ProduceRequest request)
    {
        BeginHold(request.Settled);
        Dispatch();
        SettleAll(request.Settled);
        request.Clear();
        bool mustDispatch;
        using (_gate.Enter())
        {
            _freeRequests.Push(request);
            if (_renewal != Renewal.None)
                TryRenew();
            mustDispatch = MustDispatch();
        }

        if (mustDispatch)
            Dispatch();
    }

    /// <summary>The request is answered and makes room for the next. Under the gate.</summary>
    private void EndRequest() => _inFlight--;

    /// <summary>The whole request met one failure.</summary>
    private void FailRequest(ProduceRequest request, EQueueException failure, bool isUnknown)
    {
        isUnknown |= failure.Code == ErrorCode.Timeout || MayHoldIt(failure.Code);
        ObserveAnswer(request, failure);
        using (_gate.Enter())
        {
            foreach (SendBatch batch in request.Batches)
            {
                if (_isClosed)
                    FailClosed(request, batch);
                else if (isUnknown || failure.IsRetriable)
                    SendAgain(batch, failure, isUnknown, retryAfterMs: 0);
                else
                    GiveUp(request, batch, failure);
            }

            EndRequest();
        }
    }

    /// <summary>What became of one batch. Under the gate.</summary>
    private void OnResult(ProduceRequest request, SendBatch batch, in ProduceResult result)
    {
        QueueLane queue = batch.Queue;
        if (result.IsStored)
        {
            queue.Remove(batch);
            request.Settled.Add(new SettledBatch(batch, result, null));
            List(queue);
            return;
        }

        if (_isClosed)
        {
            FailClosed(request, batch);
            return;
        }

        var failure = new EQueueException(
            result.Error, $"{Describe(result.Error, queue)} ({queue} at {Address}).")
        {
            RetryAfter = TimeSpan.FromMilliseconds(result.RetryAfterMs),
        };
        switch (result.Error)
        {
            case ErrorCode.OutOfOrderSequence:
                // Behind a batch that was refused this is expected; with nothing before it, the broker has lost
                // something.
                SendAgain(batch, failure, isUnknown: false, retryAfterMs: 0, isCalm: true);
                if (batch.WasHead)
                    BeginRenewal(Renewal.NextEpoch, $"{queue} misses a batch that was acknowledged");
                break;
            case ErrorCode.UnknownProducer or ErrorCode.ProducerFenced:
                SendAgain(batch, failure, isUnknown: false, retryAfterMs: 0, isCalm: true);
                BeginRenewal(Renewal.NewId, ErrorCodes.Describe(result.Error));
                break;
            case ErrorCode.QueueNotWritable:
                OnNotWritable(request, batch, failure, result.RetryAfterMs);
                break;
            case ErrorCode.CorruptBatch when batch.Attempts < MaxCorruptAttempts:
                SendAgain(batch, failure, isUnknown: false, result.RetryAfterMs);
                break;
            case ErrorCode.QueueFull or ErrorCode.BatchExceedsBacklog or ErrorCode.NotAuthorized
                when !batch.MayBeStored:
                // What the topic does not let wait, or does not let this client send, the application decides about.
                batch.State = BatchState.Waiting;
                Fail(batch, failure, request.Settled);
                OnGivenUp(batch, $"({result.Error})");
                if (result.Error == ErrorCode.BatchExceedsBacklog)
                    _producer.RefreshSoon(queue.Topic);
                List(queue);
                break;
            default:
                // A batch's own Timeout says that it has waited in vain and is not stored. A store that failed may
                // have its bytes all the same, and find them when it opens again.
                if (failure.IsRetriable)
                    SendAgain(batch, failure, MayHoldIt(result.Error), result.RetryAfterMs);
                else
                    GiveUp(request, batch, failure);
                break;
        }
    }

    /// <summary>Whether a refusal leaves it open what is stored: a store that failed may find the bytes when it opens
    /// again, and so may the next leader of a cluster.</summary>
    private static bool MayHoldIt(ErrorCode error) => error is ErrorCode.StoreFaulted or ErrorCode.NotLeader;

    /// <summary>A batch that waited in vain, or may not wait, is told what for.</summary>
    private static string Describe(ErrorCode error, QueueLane queue) =>
        error is ErrorCode.Timeout or ErrorCode.QueueFull && queue.Bound is { } bound
            ? $"{ErrorCodes.Describe(error)}: {bound.Words}" : ErrorCodes.Describe(error);

    /// <summary>Keeps a batch for another attempt, in its place. Under the gate.</summary>
    private void SendAgain(
        SendBatch batch, EQueueException failure, bool isUnknown, int retryAfterMs, bool isCalm = false)
    {
        QueueLane queue = batch.Queue;
        batch.LastError = failure;

        // Only an answer about the sequence itself settles what an unanswered attempt has left open.
        batch.MayBeStored = !isCalm && (isUnknown || batch.MayBeStored);
        batch.HadLoss |= isUnknown;
        batch.State = batch.MayBeStored ? BatchState.Unknown : BatchState.Waiting;
        if (batch.MayBeStored)
            _unknownCount++;
        if (!isCalm && failure.Code != ErrorCode.ConnectionLost)
        {
            if (batch.Attempts == 1)
                Log.BatchRefused(_logger, queue.Topic.Name, queue.Number, failure.Code);
            TimeSpan pause = BackoffOf(batch.Attempts);
            if (retryAfterMs > 0)
                pause = TimeSpan.FromMilliseconds(Math.Min(retryAfterMs, _options.RetryBackoffMax.TotalMilliseconds));
            queue.RetryAt = After(pause);
            ArmSweep(queue.RetryAt);
        }

        List(queue);
    }

    /// <summary>A batch that no attempt can save. Under the gate.</summary>
    private void GiveUp(ProduceRequest request, SendBatch batch, EQueueException failure)
    {
        QueueLane queue = batch.Queue;
        batch.State = BatchState.Waiting;
        Fail(batch, failure, request.Settled);
        if (failure.Code is ErrorCode.UnknownQueue or ErrorCode.UnknownTopic)
            queue.Topic.Forget(queue);
        else
            BeginRenewal(Renewal.NextEpoch, $"a batch for {queue} was refused ({failure.Code})");
        List(queue);
    }

    /// <summary>A batch that is not stored leaves its queue: those behind it are numbered again. Under the
    /// gate.</summary>
    private void OnGivenUp(SendBatch batch, string why)
    {
        if (batch.Sequence < 0)
            return;
        if (batch.HadLoss)
        {
            batch.Queue.NoteUntold(batch);
            BeginRenewal(Renewal.NextEpoch, $"a batch for {batch.Queue} {why} and an answer to it was lost");
        }
        else
        {
            batch.Queue.NoteGap(batch);
        }
    }

    private void FailClosed(ProduceRequest request, SendBatch batch)
    {
        EQueueException failure = CloseFailureOf(batch);
        batch.State = BatchState.Waiting;
        Fail(batch, failure, request.Settled);
    }

    private TimeSpan BackoffOf(int attempts)
    {
        TimeSpan pause = _options.RetryBackoffMin * Math.Pow(2, Math.Min(attempts - 1, 20));
        return pause < _options.RetryBackoffMax ? pause : _options.RetryBackoffMax;
    }

    /// <summary>Closes what has lingered; when that is due, fails what has run out of time and lists what may be tried
    /// again.</summary>
    private void OnTimer()
    {
        List<SettledBatch> failed = [];
        using (_gate.Enter())
        {
            _timerDue = long.MaxValue;
            if (_isClosed)
                return;
            long now = _time.GetTimestamp();
            EndOldHolds(now);
            if (now >= _sweepDue)
                SweepAll(now, failed);
            else if (_sweepDue != long.MaxValue)
                Arm(_sweepDue);
            if (_renewal != Renewal.None)
                TryRenew();
        }

        SettleAll(failed);
        MoveFromAway();
        Dispatch();
    }

    /// <summary>Under the gate.</summary>
    private void SweepAll(long now, List<SettledBatch> failed)
    {
        _sweepDue = long.MaxValue;
        bool hasPending = false;
        foreach (QueueLane queue in _queues.Values)
            hasPending |= Sweep(queue, now, failed);
        if (hasPending)
            ArmSweep(now + ToTicks(_sweepInterval));
    }

    /// <summary>One queue's share of the timer. Under the gate.</summary>
    /// <returns>Whether something is left that time can change.</returns>
    private bool Sweep(QueueLane queue, long now, List<SettledBatch> failed)
    {
        if (queue.Open is { } open && IsOverdue(open, now))
            CloseBatch(queue, wasFull: false);
        SendBatch? next;
        for (SendBatch? batch = queue.First; batch is not null; batch = next)
        {
            // One that came from another queue may be older than those before it.
            next = batch.Next;
            if (batch.State == BatchState.Sent || !IsOverdue(batch, now))
                continue;
            Fail(batch, Expired(batch), failed);
            OnGivenUp(batch, "ran out of time");
        }

        if (queue.RetryAt > now)
            ArmSweep(queue.RetryAt);
        List(queue);
        return queue.First is not null || queue.Open is not null;
    }

    private bool IsOverdue(SendBatch batch, long now) => now - batch.CreatedAt >= _deliveryTicks;

    private EQueueException Expired(SendBatch batch)
    {
        EQueueException? cause = batch.LastError ?? _lastSessionError;
        if (!batch.MayBeStored && !batch.Queue.IsWritable && cause is null or { Code: ErrorCode.QueueNotWritable })
        {
            return new EQueueException(
                ErrorCode.QueueNotWritable,
                $"{batch.Queue} at {Address} took no messages for {_options.DeliveryTimeout}, and no other queue did.",
                cause);
        }

        return new EQueueException(
            ErrorCode.Timeout,
            $"Not acknowledged by {Address} within {_options.DeliveryTimeout}"
            + ((cause?.Message ?? Trouble) is { } why ? $"; last: {why.TrimEnd('.')}." : "."),
            cause);
    }

    private EQueueException Untold(SendBatch batch) => new(
        ErrorCode.Timeout,
        $"Nobody can tell whether {Address} has stored it: an answer was lost, and a batch before it for {batch.Queue} "
        + $"was not acknowledged within {_options.DeliveryTimeout}.",
        batch.LastError);
}
