using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <content>
/// Messages that nobody acknowledges. One loop takes what has gathered while it handed the last frames to the
/// connection; it ends when nothing is left and is started by the next message.
/// </content>
internal sealed partial class BrokerLane
{
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
                if (queue.OpenOneway is { } full)
                    _onewayFull.Enqueue(full);
                var wasOpen = queue.OpenOneway is not null;
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
        queue.Learn(batch, wasFull: false, _options.BatchBytes);
        queue.Topic.OnBatchClosed(queue, batch.Size);
        return batch;
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
