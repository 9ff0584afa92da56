using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <content>
/// Messages that nobody acknowledges. One loop takes full batches as they come, and one that is not full when the
/// connection has nothing left to send: while it has, more may come into it. The loop ends when nothing is left and is
/// started by the next message.
/// </content>
internal sealed partial class BrokerLane
{
    /// <summary>A peer that takes nothing, or other traffic that never pauses, holds messages back no longer.</summary>
    private static readonly TimeSpan LongestOnewayGathering = TimeSpan.FromMilliseconds(1);

    /// <summary>Batches that are not full wait no longer because others fill again and again.</summary>
    private static readonly TimeSpan LongestBehindFull = TimeSpan.FromMilliseconds(5);

    private readonly Queue<SendBatch> _onewayFull = new();

    /// <summary>Those with an open batch, in the order in which it was opened.</summary>
    private readonly List<QueueLane> _onewayOpen = [];
    private Task _onewayLoop = Task.CompletedTask;
    private SendBatch? _onewayLeaving;
    private bool _isOnewayRunning;

    /// <summary>Puts a message into the open oneway batch of a queue.</summary>
    /// <param name="queue">One of this lane.</param>
    /// <param name="content">Encoded at once; nothing of it is kept.</param>
    /// <param name="mayMove">Whether another queue will do as well once this one's batch is full.</param>
    public AppendStatus TryAppendOneway(QueueLane queue, in RecordContent content, bool mayMove)
    {
        using (_gate.Enter())
        {
            if (_isClosed)
                return AppendStatus.Closed;
            if (queue.OpenOneway is not { } batch || !batch.TryAppend(content))
            {
                if (queue.OpenOneway is not null)
                {
                    _onewayFull.Enqueue(CloseOneway(queue, wasFull: true));
                    if (mayMove && queue.Topic.Sticky != queue)
                        return AppendStatus.Moved;
                }

                AppendStatus status = TryOpen(queue, content, out SendBatch? opened);
                if (status != AppendStatus.Appended)
                    return status;
                queue.OpenOneway = opened;
                _onewayOpen.Add(queue);
            }

            if (!_isOnewayRunning)
            {
                _isOnewayRunning = true;
                _onewayLoop = Task.Run(RunOnewayAsync);
            }
        }

        return AppendStatus.Appended;
    }

    /// <summary>Under the gate.</summary>
    private void GatherOneway(List<Task> pending)
    {
        foreach (SendBatch batch in _onewayFull)
            pending.Add(batch.WhenDone());
        foreach (QueueLane queue in _onewayOpen)
            pending.Add(queue.OpenOneway!.WhenDone());
        if (_onewayLeaving is not null)
            pending.Add(_onewayLeaving.WhenDone());
    }

    private async Task RunOnewayAsync()
    {
        while (true)
        {
            await GatherOnewayAsync().ConfigureAwait(false);
            SendBatch? batch;
            using (_gate.Enter())
            {
                batch = _onewayLeaving = TakeOneway();
                if (batch is null)
                {
                    _isOnewayRunning = false;
                    return;
                }
            }

            EQueueException? failure = await SendOnewayAsync(batch).ConfigureAwait(false);
            using (_gate.Enter())
                _onewayLeaving = null;
            ObserveSettled(batch, failure);
            batch.Settle(new ProduceResult(default, default, -1, new QueueOffset(-1), 0, 0), failure);
        }
    }

    /// <summary>Whether nothing is full and the first that was opened has not waited yet. Under the gate.</summary>
    private bool MayGatherOneway() => !_isClosed && _onewayFull.Count == 0 && _onewayOpen.Count > 0
        && _time.GetElapsedTime(_onewayOpen[0].OpenOneway!.CreatedAt) < LongestOnewayGathering;

    /// <summary>Waits until the connection has nothing to send, but not for long, nor behind a full batch.</summary>
    private async ValueTask GatherOnewayAsync()
    {
        using (_gate.Enter())
        {
            if (!MayGatherOneway())
                return;
        }

        Task drained = _link.Remoting.WhenDrained();
        if (!drained.IsCompleted)
            await drained.WaitAsync(LongestOnewayGathering).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
    }

    /// <summary>Under the gate.</summary>
    private SendBatch? TakeOneway()
    {
        QueueLane? open = _onewayOpen.Count == 0 ? null : _onewayOpen[0];
        if (!_onewayFull.TryPeek(out SendBatch? full))
            return open is null ? null : CloseOneway(open, wasFull: false);
        return open is not null && IsPassedOver(open.OpenOneway!, full)
            ? CloseOneway(open, wasFull: false)
            : _onewayFull.Dequeue();
    }

    /// <summary>Whether an open batch has waited for long and full ones are opened and filled behind it. One of its own
    /// queue is older.</summary>
    private bool IsPassedOver(SendBatch open, SendBatch full) =>
        open.CreatedAt < full.CreatedAt && _time.GetElapsedTime(open.CreatedAt) >= LongestBehindFull;

    /// <summary>Takes the open batch of a queue. Under the gate.</summary>
    private SendBatch CloseOneway(QueueLane queue, bool wasFull)
    {
        SendBatch batch = queue.OpenOneway!;
        queue.OpenOneway = null;
        _onewayOpen.Remove(queue);
        queue.Learn(batch, wasFull && queue.Bound is null, _options.BatchBytes);
        queue.Topic.OnBatchClosed(queue, batch.Size);
        return batch;
    }

    private async ValueTask<EQueueException?> SendOnewayAsync(SendBatch batch)
    {
        // Nothing that waits for a broker that is away makes those behind it wait for ever.
        if (!_link.Remoting.IsConnected && IsOverdue(batch, _time.GetTimestamp()))
            return Lost(batch, new RemotingException(RemotingError.Unreachable, "The broker was away for too long."));
        try
        {
            batch.Encode(_packer);
            batch.Attempts = 1;
            ObserveLeaving(batch);
            FrameBuffer frame = batch.ToRequest(
                new ProduceRequestHeader(Durability.Policy, DeadlineMs: 0, TransactionId: 0, BatchCount: 1));
            await _link.Remoting
                .SendOnewayAsync(frame, (byte)Opcode.Produce, 0, _closing.Token).ConfigureAwait(false);
            return null;
        }
        catch (RemotingException exception)
        {
            return Lost(batch, exception);
        }
    }

    private EQueueException Lost(SendBatch batch, RemotingException cause)
    {
        if (_isClosed && _closeFailure is null)
            _producer.NoteUnsent(batch.Queue.Topic.Name, batch.RecordCount, mayBeStored: false);
        else
            Log.OnewayLost(_logger, batch.RecordCount, batch.Queue.Topic.Name, batch.Queue.Number, cause.Message);
        return _link.FaultOf(cause);
    }
}
