using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>What leaves a lane: full batches while there is room in flight, the others as <see cref="LeavingRule"/>
/// says.</summary>
/// <remarks>Owns the list of queues with something to send, the open batches and the requests; all but
/// <see cref="Run"/> under the lane's gate. One thread at a time dispatches, the one whose message or answer made
/// something sendable: it takes batches under the gate, and encodes and sends them outside. It never blocks on the
/// network.</remarks>
internal sealed class LaneDispatch
{
    /// <summary>An answer that a request has waited in vain is on its way before its time is over here.</summary>
    private static readonly TimeSpan AnswerMargin = TimeSpan.FromSeconds(5);

    private readonly BrokerLane _lane;
    private readonly LeavingRule _leaving;
    private readonly ProducerOptions _options;
    private readonly TimeProvider _time;
    private readonly Queue<QueueLane> _ready = new();

    /// <summary>In the order of their turns.</summary>
    private readonly BatchList _open = new();
    private bool _isDispatching;

    public LaneDispatch(BrokerLane lane)
    {
        _lane = lane;
        _leaving = lane.Leaving;
        _options = lane.Terms.Options;
        _time = lane.Terms.Time;
        Requests = new ProduceRequests(_options.MaxInFlight);
    }

    /// <summary>Whether something may leave and no thread dispatches: the caller is to <see cref="Run"/>.</summary>
    public bool IsDue => _lane.Session.IsReady && !_isDispatching && _leaving.HasRoom
        && (_ready.Count > 0
            || _leaving.IsItsTurn(_open.First?.Turn ?? LeavingRule.Never));

    /// <summary>The requests that are in flight, and those that are free.</summary>
    public ProduceRequests Requests { get; }

    /// <summary>Batches below this are gathered into one frame, which costs a copy.</summary>
    private int SmallBatchBytes => _options.BatchBytes / 4;

    /// <summary>Sends what may be sent. Any thread, under no gate.</summary>
    public void Run()
    {
        using (_lane.Gate.Enter())
        {
            if (_isDispatching)
                return;
            _isDispatching = true;
        }

        while (true)
        {
            ProduceRequest? request;
            using (_lane.Gate.Enter())
            {
                request = TakeRequest();
                if (request is null)
                {
                    // The thread that makes something sendable later finds none dispatching and does it.
                    _isDispatching = false;
                    return;
                }
            }

            Send(request);
        }
    }

    /// <summary>A queue has something to send, or its gap can be closed now.</summary>
    public void List(QueueLane queue)
    {
        if (!queue.Pending.TryCloseGap())
        {
            _lane.Session.BeginRenewal(
                Renewal.NextEpoch, $"a batch for {queue} was given up and an answer of that queue was lost");
        }

        if (queue.IsListed || queue.Pending.First is null)
            return;
        queue.IsListed = true;
        _ready.Enqueue(queue);
    }

    /// <summary>A queue has opened a batch.</summary>
    public void NoteOpened(SendBatch batch)
    {
        batch.Turn = _leaving.NoteOpened();
        _open.Add(batch);
        ArmPace();
        _lane.Sweep.ArmSweep();
    }

    /// <summary>Moves a queue's open batch to the pending ones.</summary>
    public void CloseBatch(QueueLane queue, bool wasFull)
    {
        _open.Remove(queue.Open!);
        queue.Close(wasFull);
        List(queue);
    }

    /// <summary>Closes every open batch.</summary>
    public void CloseAllOpen()
    {
        while (_open.First is { } batch)
            CloseBatch(QueueLane.Of(batch), wasFull: false);
    }

    /// <summary>Wakes the lane when the pace lets open batches leave.</summary>
    public void ArmPace()
    {
        if (_leaving.PaceDue is var due and < LeavingRule.Never && _open.First is not null)
            _lane.Sweep.Arm(due);
    }

    /// <summary>Closes the open batches that may leave.</summary>
    private void CloseDue(long now)
    {
        for (int left = _open.Count; left > 0 && _open.First is { } batch; left--)
        {
            if (!_leaving.MayLeave(batch.Turn, batch.CreatedAt, now))
            {
                _lane.Sweep.Arm(_leaving.NextDue(batch.Turn, batch.CreatedAt));
                break;
            }

            var queue = QueueLane.Of(batch);
            if (queue.Pending.HasUnsent)
            {
                _open.Remove(batch);
                batch.Turn = _leaving.NoteOpened();
                _open.Add(batch);
            }
            else
            {
                CloseBatch(queue, wasFull: false);
            }
        }
    }

    /// <summary>Takes the batches of the next request; null when nothing may leave now.</summary>
    private ProduceRequest? TakeRequest()
    {
        if (!_lane.Session.IsReady || _lane.IsClosed || !_leaving.HasRoom || !Requests.HasFree)
            return null;
        if (!_lane.Link.Remoting.IsConnected)
        {
            // Nothing is handed to a connection that is not there: what was never sent may go elsewhere.
            if (_ready.Count > 0 || _open.First is not null)
                _lane.Session.BeAway();
            return null;
        }

        long now = _time.GetTimestamp();
        CloseDue(now);
        SendBatch? batch = TakeSendable(now, int.MaxValue, int.MaxValue);
        if (batch is null)
            return null;

        ProduceRequest request = Requests.Take();
        request.Batches.Add(batch);
        int size = batch.Size;
        int records = batch.RecordCount;
        if (size <= SmallBatchBytes)
        {
            // What may have to wait for room is answered soon: no more of it together than one batch may hold.
            SendBound? bound = QueueLane.Of(batch).Bound;
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

        _leaving.NoteSent(now);
        request.TakenAt = now;
        return request;
    }

    /// <summary>Takes the next batch of the queue whose turn it is; null, and it stays its turn, when that is
    /// larger.</summary>
    private SendBatch? TakeSendable(long now, int maxSize, int maxRecords)
    {
        for (int turns = _ready.Count; turns > 0; turns--)
        {
            QueueLane queue = _ready.Peek();
            SendBatch? batch = _lane.Session.FindNext(queue, now);
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
            _lane.Session.NoteLeaving(queue, batch);
            if (_lane.Session.FindNext(queue, now) is null)
                queue.IsListed = false;
            else
                _ready.Enqueue(queue);
            return batch;
        }

        return null;
    }

    private void Send(ProduceRequest request)
    {
        TimeSpan timeout = request.TimeLeft(_lane.Terms, _lane.IsBounded);
        FrameBuffer frame = request.ToFrame(_options.Durability, timeout, _lane.Packer);
        request.Generation = _lane.Link.Remoting.ConnectionGeneration;
        request.ObserveLeaving(_lane.Terms, _lane.Address);
        _lane.Link.Remoting.Invoke(
            frame,
            (byte)Opcode.Produce,
            0,
            _lane.IsBounded ? timeout + AnswerMargin : timeout,
            _lane.Answers,
            request.Index,
            inlineAllowed: false);
    }
}
