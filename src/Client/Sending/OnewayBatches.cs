using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>A lane's messages that are not acknowledged.</summary>
/// <remarks>Owns their batches, under the lane's gate, and the one loop that sends them: it takes full batches as they
/// come, and one that is not full when <see cref="LeavingRule"/> lets it leave. The loop ends when nothing is left and
/// is started by the next message.</remarks>
internal sealed class OnewayBatches(BrokerLane lane)
{
    private readonly SendTerms _terms = lane.Terms;
    private readonly BatchList _full = new();

    /// <summary>In the order in which they were opened.</summary>
    private readonly BatchList _open = new();
    private Task _loop = Task.CompletedTask;
    private SendBatch? _leaving;
    private bool _isRunning;

    /// <summary>Completes when the loop of a closed lane has ended.</summary>
    public Task Ended => _loop;

    /// <summary>Puts a message into the open oneway batch of a queue.</summary>
    /// <param name="queue">One of this lane.</param>
    /// <param name="content">Encoded at once; nothing of it is kept.</param>
    public AppendStatus TryAppend(QueueLane queue, in RecordContent content)
    {
        using (lane.Gate.Enter())
        {
            if (lane.IsClosed)
                return AppendStatus.Closed;
            AppendStatus status = queue.TryAppendOneway(content);
            if (status == AppendStatus.Appended && !_isRunning)
            {
                _isRunning = true;
                _loop = Task.Run(RunAsync);
            }

            return status;
        }
    }

    /// <summary>A queue has opened a batch. Under the gate.</summary>
    public void NoteOpened(SendBatch batch) => _open.Add(batch);

    /// <summary>The open batch of a queue takes no more. Under the gate.</summary>
    public void CloseFull(QueueLane queue) => _full.Add(Close(queue, wasFull: true));

    /// <summary>Gathers what is not sent yet. Under the gate.</summary>
    public void Gather(List<Task> pending)
    {
        _full.Gather(pending);
        _open.Gather(pending);
        if (_leaving is not null)
            pending.Add(_leaving.WhenDone());
    }

    private async Task RunAsync()
    {
        while (true)
        {
            await GatherAsync().ConfigureAwait(false);
            SendBatch? batch;
            using (lane.Gate.Enter())
            {
                batch = _leaving = TakeNext();
                if (batch is null)
                {
                    _isRunning = false;
                    return;
                }
            }

            EQueueException? failure = await SendAsync(batch).ConfigureAwait(false);
            using (lane.Gate.Enter())
                _leaving = null;
            batch.Trace.ObserveSettled(batch, _terms.Logger, lane.Address, failure);
            batch.Settle(new ProduceResult(default, default, -1, new QueueOffset(-1), 0, 0), failure);
        }
    }

    /// <summary>Waits until the connection has nothing to send, but not for long, nor behind a full batch.</summary>
    private async ValueTask GatherAsync()
    {
        using (lane.Gate.Enter())
        {
            if (lane.IsClosed || _full.First is not null || _open.First is not { } open
                || !lane.Leaving.MayGatherOneway(open.CreatedAt, _terms.Time.GetTimestamp()))
            {
                return;
            }
        }

        Task drained = lane.Link.Remoting.WhenDrained();
        if (!drained.IsCompleted)
        {
            await drained.WaitAsync(LeavingRule.LongestOnewayGathering)
                .ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    private SendBatch? TakeNext()
    {
        if (_open.First is { } open && (_full.First is not { } full
            || lane.Leaving.LeavesBeforeFull(open.CreatedAt, full.CreatedAt, _terms.Time.GetTimestamp())))
        {
            return Close(QueueLane.Of(open), wasFull: false);
        }

        SendBatch? next = _full.First;
        if (next is not null)
            _full.Remove(next);
        return next;
    }

    private SendBatch Close(QueueLane queue, bool wasFull)
    {
        _open.Remove(queue.OpenOneway!);
        return queue.CloseOneway(wasFull);
    }

    private async ValueTask<EQueueException?> SendAsync(SendBatch batch)
    {
        // Nothing that waits for a broker that is away makes those behind it wait as long again.
        RemotingClient remoting = lane.Link.Remoting;
        if (!remoting.IsConnected && _terms.IsOverdue(batch, _terms.Time.GetTimestamp()))
            return Lost(batch, new RemotingException(RemotingError.Unreachable, "The broker was away for too long."));
        try
        {
            batch.Encode(lane.Packer);
            batch.Attempts = 1;
            batch.Trace.ObserveLeaving(batch, _terms.Logger, lane.Address);
            FrameBuffer frame = batch.ToRequest(
                new ProduceRequestHeader(Durability.Policy, DeadlineMs: 0, TransactionId: 0, BatchCount: 1));
            await remoting.SendOnewayAsync(frame, (byte)Opcode.Produce, 0, lane.Closing).ConfigureAwait(false);
            return null;
        }
        catch (RemotingException exception)
        {
            return Lost(batch, exception);
        }
    }

    private EQueueException Lost(SendBatch batch, RemotingException cause)
    {
        IBatchOwner queue = batch.Owner;
        if (lane.IsProducerClosed)
            _terms.NoteUnsent(queue.TopicName, batch.RecordCount, mayBeStored: false);
        else
            Log.OnewayLost(_terms.Logger, batch.RecordCount, queue.TopicName, queue.Number, cause.Message);
        return lane.Link.FaultOf(cause);
    }
}
