namespace EQueue.Client;

/// <content>
/// Batches that are not full. They leave when nothing is in flight: so they gather for as long as the broker takes to
/// answer. Where others never let that happen, each leaves when the requests that were sent before it was opened are
/// answered, and as many more as may be in flight: what little goes to one queue does not wait until all is quiet. For
/// those with a long way to the broker see Pace.
/// </content>
internal sealed partial class BrokerLane
{
    /// <summary>Some were closed since: those go when it is their turn.</summary>
    private readonly Queue<OpenBatch> _open = new();

    private long _openCount;

    private long AnsweredRequests => _sentRequests - _inFlight;

    /// <summary>Whether nothing is in flight, nor a continuation that will send more.</summary>
    private bool IsQuiet => _inFlight == 0 && _holds == 0;

    /// <summary>Whether open batches may leave, but for their linger. Under the gate.</summary>
    private bool MayCloseOpen => IsQuiet || (_open.TryPeek(out OpenBatch first) && AnsweredRequests >= first.Due);

    /// <summary>The <see cref="OpenBatch.Due"/> of a batch that is opened now.</summary>
    private long NewDue => _sentRequests + _options.MaxInFlight;

    /// <summary>A queue has opened a batch. Under the gate.</summary>
    private void NoteOpen(QueueLane queue)
    {
        queue.OpenNumber = ++_openCount;
        DropClosed();
        _open.Enqueue(new OpenBatch(queue, _openCount, NewDue));
        ArmPace();
    }

    /// <summary>Whether any batch is open. Under the gate.</summary>
    private bool HasOpen()
    {
        DropClosed();
        return _open.Count > 0;
    }

    private void DropClosed()
    {
        while (_open.TryPeek(out OpenBatch first) && !first.IsOpen)
            _open.Dequeue();
    }

    /// <summary>Closes the open batches whose turn it is and whose linger is over. Under the gate.</summary>
    /// <param name="now">In the time provider's units.</param>
    private void CloseOpen(long now)
    {
        bool isPaceDue = IsPaceDue(now);
        for (int left = _open.Count; left > 0 && HasOpen(); left--)
        {
            OpenBatch first = _open.Peek();
            if (!IsQuiet && AnsweredRequests < first.Due && !isPaceDue)
            {
                ArmPace();
                break;
            }

            long lingerEnd = first.Queue.Open!.CreatedAt + _lingerTicks;
            if (lingerEnd > now)
            {
                Arm(lingerEnd);
                break;
            }

            _open.Dequeue();
            if (first.Queue.HasUnsent)
                _open.Enqueue(first with { Due = NewDue });
            else
                CloseBatch(first.Queue, wasFull: false);
        }
    }

    /// <summary>Closes every open batch. Under the gate.</summary>
    private void CloseAllOpen()
    {
        while (HasOpen())
            CloseBatch(_open.Dequeue().Queue, wasFull: false);
    }

    /// <summary>A queue that has opened a batch.</summary>
    /// <param name="Queue">It.</param>
    /// <param name="Number">Which one of the lane's the batch is.</param>
    /// <param name="Due">It need not wait for quiet when so many requests are answered.</param>
    private readonly record struct OpenBatch(QueueLane Queue, long Number, long Due)
    {
        /// <summary>False when it was closed since.</summary>
        public bool IsOpen => Queue.OpenNumber == Number && Queue.Open is not null;
    }
}
