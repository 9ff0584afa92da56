namespace EQueue.Client;

/// <content>
/// Batches that are not full. They stand in the order in which they were opened, and leave so: each when as many
/// requests were answered as had been sent before it was opened. So they gather for as long as the broker takes to
/// answer, and what little goes to one queue waits no longer because others are never done.
/// </content>
internal sealed partial class BrokerLane
{
    /// <summary>Some were closed since: those go when it is their turn.</summary>
    private readonly Queue<OpenBatch> _open = new();

    private long _openCount;

    /// <summary>What <see cref="PassedRequests"/> must reach before it is of use to look at <see cref="_open"/>.
    /// </summary>
    private long _nextOpenDue = long.MaxValue;

    /// <summary>Requests that were answered; while continuations run, without the last one: what they send is to be
    /// waited for, but not by those whose turn it was before.</summary>
    private long PassedRequests => _sentRequests - _inFlight - (_holds == 0 ? 0 : 1);

    /// <summary>Whether nothing is in flight, nor a continuation that will send more.</summary>
    private bool IsQuiet => _inFlight == 0 && _holds == 0;

    /// <summary>Whether open batches may leave, but for their linger. Under the gate.</summary>
    private bool MayCloseOpen => IsQuiet || PassedRequests >= _nextOpenDue;

    /// <summary>A queue has opened a batch. Under the gate.</summary>
    private void NoteOpen(QueueLane queue)
    {
        queue.OpenNumber = ++_openCount;

        // What is ready leaves before it, in one more request at the least.
        var due = _sentRequests + (_ready.Count > 0 ? 1 : 0);
        if (_open.Count == 0)
            _nextOpenDue = due;
        _open.Enqueue(new OpenBatch(queue, _openCount, due));
    }

    /// <summary>Whether any batch is open. Under the gate.</summary>
    private bool HasOpen()
    {
        while (_open.TryPeek(out var first) && !first.IsOpen)
            _open.Dequeue();
        return _open.Count > 0;
    }

    /// <summary>Closes the open batches whose turn it is and whose linger is over. Under the gate.</summary>
    /// <param name="now">In the time provider's units.</param>
    /// <param name="isAtRest">Whether the lane is quiet and nothing else can leave: it is everybody's turn.</param>
    private void CloseOpen(long now, bool isAtRest)
    {
        for (var left = _open.Count; left > 0 && HasOpen(); left--)
        {
            var first = _open.Peek();
            if (!isAtRest && PassedRequests < first.Due)
                break;
            var lingerEnd = first.Queue.Open!.CreatedAt + _lingerTicks;
            if (lingerEnd > now)
            {
                Arm(lingerEnd);
                break;
            }

            _open.Dequeue();
            if (first.Queue.HasUnsent)
                _open.Enqueue(first with { Due = _sentRequests + 1 });
            else
                CloseBatch(first.Queue, wasFull: false);
        }

        _nextOpenDue = _open.TryPeek(out var next) ? next.Due : long.MaxValue;
    }

    /// <summary>Closes every open batch. Under the gate.</summary>
    private void CloseAllOpen()
    {
        while (HasOpen())
            CloseBatch(_open.Dequeue().Queue, wasFull: false);
        _nextOpenDue = long.MaxValue;
    }

    /// <summary>A queue that has opened a batch.</summary>
    /// <param name="Queue">It.</param>
    /// <param name="Number">Which one of the lane's the batch is.</param>
    /// <param name="Due">It may leave when so many requests have passed.</param>
    private readonly record struct OpenBatch(QueueLane Queue, long Number, long Due)
    {
        /// <summary>False when it was closed since.</summary>
        public bool IsOpen => Queue.OpenNumber == Number && Queue.Open is not null;
    }
}
