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

    private readonly Queue<SendBatch> _onewayFull = new();
    private readonly List<QueueLane> _onewayOpen = [];
    private Task _onewayLoop = Task.CompletedTask;
    private SendBatch? _onewayLeaving;
    private bool _isOnewayRunning;

    /// <summary>Puts a message into the open oneway batch of a queue.</summary>
    public AppendStatus TryAppendOneway(QueueLane queue, in RecordContent content)
    {
        lock (_gate)
        {
            if (_isClosed)
                return AppendStatus.Closed;
            if (queue.OpenOneway is not { } batch || !batch.TryAppend(content))
            {
                var wasOpen = queue.OpenOneway is not null;
                if (queue.OpenOneway is { } full)
                {
                    _onewayFull.Enqueue(full);
                    OnOnewayClosed(full, wasFull: true);
                }

                queue.OpenOneway = null;
                var status = TryOpen(queue, content, out var opened);
                if (wasOpen && opened is null)
                    _onewayOpen.Remove(queue);
                else if (!wasOpen && opened is not null)
                    _onewayOpen.Add(queue);
                queue.OpenOneway = opened;
                if (status != AppendStatus.Appended)
                    return status;
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
        foreach (var batch in _onewayFull)
            pending.Add(batch.WhenDone());
        foreach (var queue in _onewayOpen)
            pending.Add(queue.OpenOneway!.WhenDone());
        if (_onewayLeaving is not null)
            pending.Add(_onewayLeaving.WhenDone());
    }

    private async Task RunOnewayAsync()
    {
        while (true)
        {
            SendBatch? batch;
            bool mayGather;
            lock (_gate)
                mayGather = _onewayFull.Count == 0;
            if (mayGather)
                await GatherOnewayAsync().ConfigureAwait(false);
            lock (_gate)
            {
                batch = _onewayLeaving = TakeOneway();
                if (batch is null)
                {
                    _isOnewayRunning = false;
                    return;
                }
            }

            var failure = await SendOnewayAsync(batch).ConfigureAwait(false);
            lock (_gate)
                _onewayLeaving = null;
            ObserveSettled(batch, failure);
            batch.Settle(new ProduceResult(default, default, -1, new QueueOffset(-1), 0, 0), failure);
        }
    }

    /// <summary>Waits until the connection has nothing to send, but not for long.</summary>
    private async ValueTask GatherOnewayAsync()
    {
        var drained = _link.Remoting.WhenDrained();
        if (!drained.IsCompleted)
        {
            await drained.WaitAsync(LongestOnewayGathering).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    /// <summary>Under the gate.</summary>
    private SendBatch? TakeOneway()
    {
        if (_onewayFull.TryDequeue(out var batch))
            return batch;
        if (_onewayOpen.Count == 0)
            return null;
        var queue = _onewayOpen[^1];
        _onewayOpen.RemoveAt(_onewayOpen.Count - 1);
        batch = queue.OpenOneway!;
        queue.OpenOneway = null;
        OnOnewayClosed(batch, wasFull: false);
        return batch;
    }

    /// <summary>Under the gate.</summary>
    private void OnOnewayClosed(SendBatch batch, bool wasFull)
    {
        var queue = batch.Queue;
        queue.Learn(batch, wasFull && queue.Bound is null, _options.BatchBytes);
        queue.Topic.OnBatchClosed(queue, batch.Size);
    }

    private async ValueTask<EQueueException?> SendOnewayAsync(SendBatch batch)
    {
        var queue = batch.Queue;
        try
        {
            batch.Encode();
            batch.Attempts = 1;
            ObserveLeaving(batch);
            var frame = batch.ToRequest(
                new ProduceRequestHeader(Durability.Policy, DeadlineMs: 0, TransactionId: 0, BatchCount: 1));
            await _link.Remoting
                .SendOnewayAsync(frame, (byte)Opcode.Produce, 0, _closing.Token).ConfigureAwait(false);
            return null;
        }
        catch (RemotingException exception)
        {
            Log.OnewayLost(_logger, batch.RecordCount, queue.Topic.Name, queue.Number, exception.Message);
            return Faults.From(exception);
        }
    }
}
