using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>Answers come back to a lane: batches are settled, or wait to be sent again.</summary>
/// <remarks>Called by the connection's receive loop, and by the threads that end requests without an answer. Owns
/// nothing: requests and queues belong to the lane, and are changed under its gate.</remarks>
internal sealed class LaneAnswers(BrokerLane lane) : IResponseSink
{
    /// <summary>Times that a batch is sent again because its bytes arrived damaged.</summary>
    private const int MaxCorruptAttempts = 3;

    private readonly SendTerms _terms = lane.Terms;

    /// <inheritdoc/>
    void IResponseSink.OnResponse(long token, ResponseFrame response)
    {
        ProduceRequest request = lane.Dispatch.Requests[token];
        using (response)
        {
            ReadOnlySpan<byte> payload = response.PayloadSpan;
            if (response.Header.Error != 0)
            {
                EQueueException failure = lane.Link.FaultOf(response);
                bool isLost = failure.Code == ErrorCode.ConnectionLost;
                FailRequest(request, failure, isUnknown: isLost);
                if (isLost)
                    lane.Session.BeAway(request.Generation);
            }
            else if (!ProduceResponse.TryReadHeader(payload, out _, out int count) || count != request.Batches.Count)
            {
                FailRequest(request, Faults.Malformed(Opcode.Produce, lane.Address.ToString()), isUnknown: true);
            }
            else
            {
                request.ObserveAnswer(_terms, lane.Address, null);
                using (lane.Gate.Enter())
                {
                    for (int i = 0; i < count; i++)
                    {
                        var result = ProduceResult.Read(
                            payload[(ProduceResponse.HeaderSize + (i * ProduceResult.Size))..]);
                        OnResult(request, request.Batches[i], result);
                    }

                    lane.Leaving.NoteAnswered(request.TakenAt, _terms.Time.GetTimestamp());
                }
            }
        }

        Finish(request);
    }

    /// <inheritdoc/>
    void IResponseSink.OnFailure(long token, RemotingException exception)
    {
        ProduceRequest request = lane.Dispatch.Requests[token];
        bool wasNotSent = exception.Error is RemotingError.TooLarge or RemotingError.Unreachable;
        FailRequest(request, lane.Link.FaultOf(exception), isUnknown: !wasNotSent);
        if (exception.Error is RemotingError.ConnectionLost or RemotingError.Unreachable)
            lane.Session.BeAway(request.Generation);
        Finish(request);
    }

    /// <summary>Completes the messages of batches that have left their queues. Under no gate.</summary>
    public void SettleAll(List<SettledBatch> settled)
    {
        foreach (SettledBatch batch in settled)
            batch.Settle(_terms, lane.Address);
    }

    /// <summary>A batch that is not stored has left its queue: those behind it are numbered again. Under the
    /// gate.</summary>
    public void OnGivenUp(SendBatch batch, string why)
    {
        var queue = QueueLane.Of(batch);
        if (!queue.Pending.TryNoteGap(batch))
        {
            lane.Session.BeginRenewal(
                Renewal.NextEpoch, $"a batch for {queue} {why} and an answer to it was lost");
        }
    }

    private void Finish(ProduceRequest request)
    {
        BeginHold(request.Settled);
        lane.Dispatch.Run();
        SettleAll(request.Settled);
        request.Clear();
        using (lane.Gate.Enter())
        {
            lane.Dispatch.Requests.Return(request);
            lane.Session.TryRenew();
        }

        lane.Dispatch.Run();
    }

    /// <summary>What the continuations of an answer send is gathered, and leaves when the last of them has run.
    /// Otherwise half of the senders that wait for their receipts would always be under way and the other half in the
    /// open batch, and every batch would be half as large.</summary>
    private void BeginHold(List<SettledBatch> settled)
    {
        int messages = 0;
        foreach ((SendBatch batch, _, _) in settled)
            messages += batch.Awaitables;
        if (messages < LeavingRule.LeastHeld)
            return;
        using (lane.Gate.Enter())
        {
            long now = _terms.Time.GetTimestamp();
            foreach ((SendBatch batch, _, _) in settled)
            {
                if (batch.Awaitables > 0)
                    batch.Hold = lane.Leaving.BeginHold(now);
            }

            lane.Sweep.Arm(lane.Leaving.HoldEnd);
        }
    }

    /// <summary>The whole request met one failure.</summary>
    private void FailRequest(ProduceRequest request, EQueueException failure, bool isUnknown)
    {
        isUnknown |= failure.Code == ErrorCode.Timeout || MayHoldIt(failure.Code);
        request.ObserveAnswer(_terms, lane.Address, failure);
        using (lane.Gate.Enter())
        {
            foreach (SendBatch batch in request.Batches)
            {
                if (lane.IsClosed)
                    lane.Fail(batch, lane.CloseFailureOf(batch), request.Settled);
                else if (isUnknown || failure.IsRetriable)
                    SendAgain(batch, failure, isUnknown, retryAfterMs: 0);
                else
                    GiveUp(request, batch, failure);
            }

            lane.Leaving.NoteFailed();
        }
    }

    /// <summary>What became of one batch. Under the gate.</summary>
    private void OnResult(ProduceRequest request, SendBatch batch, in ProduceResult result)
    {
        var queue = QueueLane.Of(batch);
        if (result.IsStored)
        {
            queue.Pending.Remove(batch);
            request.Settled.Add(new SettledBatch(batch, result, null));
            lane.Dispatch.List(queue);
            return;
        }

        if (lane.IsClosed)
        {
            lane.Fail(batch, lane.CloseFailureOf(batch), request.Settled);
            return;
        }

        EQueueException failure = SendFaults.Refused(result, queue);
        switch (result.Error)
        {
            case ErrorCode.OutOfOrderSequence:
                // Behind a batch that was refused this is expected; with nothing before it, the broker has lost
                // something.
                SendAgain(batch, failure, isUnknown: false, retryAfterMs: 0, isCalm: true);
                if (batch.WasHead)
                {
                    lane.Session.BeginRenewal(
                        Renewal.NextEpoch, $"{queue} misses a batch that was acknowledged");
                }

                break;
            case ErrorCode.UnknownProducer or ErrorCode.ProducerFenced:
                SendAgain(batch, failure, isUnknown: false, retryAfterMs: 0, isCalm: true);
                lane.Session.BeginRenewal(Renewal.NewId, ErrorCodes.Describe(result.Error));
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
                Refuse(request, batch, failure);
                if (result.Error == ErrorCode.BatchExceedsBacklog)
                    queue.Topic.RefreshSoon();
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

    /// <summary>Its queue takes no messages. A batch with keys fails at once, for a key's queue is its own; one without
    /// goes elsewhere, or waits.</summary>
    private void OnNotWritable(ProduceRequest request, SendBatch batch, EQueueException failure, int retryAfterMs)
    {
        var queue = QueueLane.Of(batch);
        bool mustAsk = queue.IsWritable;
        queue.IsWritable = false;
        if (batch.HasKeys && !batch.MayBeStored)
        {
            Refuse(request, batch, failure);
        }
        else
        {
            SendAgain(batch, failure, isUnknown: false, retryAfterMs);
            mustAsk |= !BatchMoves.TryLeave(queue);
        }

        if (mustAsk)
            queue.Topic.RefreshSoon();
    }

    /// <summary>Keeps a batch for another attempt, in its place.</summary>
    private void SendAgain(
        SendBatch batch, EQueueException failure, bool isUnknown, int retryAfterMs, bool isCalm = false)
    {
        var queue = QueueLane.Of(batch);
        batch.LastError = failure;

        // Only an answer about the sequence itself settles what an unanswered attempt has left open.
        batch.MayBeStored = !isCalm && (isUnknown || batch.MayBeStored);
        batch.HadLoss |= isUnknown;
        batch.State = BatchState.Waiting;
        if (batch.MayBeStored)
            lane.Session.NoteUnknown(batch);
        if (!isCalm && failure.Code != ErrorCode.ConnectionLost)
        {
            if (batch.Attempts == 1)
                Log.BatchRefused(_terms.Logger, queue.TopicName, queue.Number, failure.Code);
            lane.Sweep.RetryLater(queue, batch.Attempts, retryAfterMs);
        }

        lane.Dispatch.List(queue);
    }

    /// <summary>A batch that no attempt can save, and that ends the session unless its queue is gone.</summary>
    private void GiveUp(ProduceRequest request, SendBatch batch, EQueueException failure)
    {
        var queue = QueueLane.Of(batch);
        lane.Fail(batch, failure, request.Settled);
        if (failure.Code is ErrorCode.UnknownQueue or ErrorCode.UnknownTopic)
            queue.Topic.Forget(queue);
        else
            lane.Session.BeginRenewal(Renewal.NextEpoch, $"a batch for {queue} was refused ({failure.Code})");
        lane.Dispatch.List(queue);
    }

    /// <summary>A batch that is known not to be stored: those behind it go on.</summary>
    private void Refuse(ProduceRequest request, SendBatch batch, EQueueException failure)
    {
        lane.Fail(batch, failure, request.Settled);
        OnGivenUp(batch, $"({failure.Code})");
        lane.Dispatch.List(QueueLane.Of(batch));
    }
}
