using EQueue.Protocol;

namespace EQueue.Client;

/// <content>What the reader holds when a queue is taken away or a membership may be over.</content>
internal sealed partial class MessageStream
{
    private readonly List<Withheld> _withheld = [];

    /// <summary>The queue that the reader is at; null when it waits or no loop runs.</summary>
    /// <remarks>
    /// A queue is taken away by its mark and the reader by this word, each written before the other is read: either the
    /// reader sees the mark, or who took the queue away sees that it is in hand and is told when it is let go.
    /// </remarks>
    private QueueCursor? _inHand;

    /// <summary>A queue was sought in or taken away: looked at before the next message of an open batch.</summary>
    private volatile bool _isInterrupted;

    /// <summary>Whether the application may stand at a message of a queue that was taken away.</summary>
    public bool IsInHand(QueueCursor cursor)
    {
        Interlocked.MemoryBarrier();
        return Volatile.Read(ref _inHand) == cursor;
    }

    /// <summary>False if the queue was taken away.</summary>
    private bool TryTakeInHand(QueueCursor cursor)
    {
        if (_inHand != cursor)
        {
            Volatile.Write(ref _inHand, cursor);
            Interlocked.MemoryBarrier();
        }

        return !cursor.IsRemoved;
    }

    private void LetGo()
    {
        if (_inHand is not { } cursor)
            return;
        Volatile.Write(ref _inHand, null);
        Interlocked.MemoryBarrier();
        if (cursor.IsRemoved)
            cursor.Owner?.OnLetGo();
    }

    /// <summary>The application has made its step and takes no other: what it has in hand is processed.</summary>
    public void Pass()
    {
        if (_isInBatch && (!_isInterrupted || StaysInBatch()))
            _cursor.Queue.Processed = _cursor.Queue.Delivered;
    }

    /// <summary>The application has made its step; is there more of the batch to hand out?</summary>
    private bool StaysInBatch()
    {
        // Put back before looking: what comes later interrupts the next step.
        _isInterrupted = false;
        Interlocked.MemoryBarrier();
        QueueCursor cursor = _cursor.Queue;
        if (!cursor.IsRemoved)
            return _queue.Version == cursor.Version;
        cursor.Processed = cursor.Delivered;
        DropBatch();
        return false;
    }

    /// <summary>Leaves the open batch where it is: what was not handed out is not processed.</summary>
    private void DropBatch()
    {
        EndHanding();
        _isInBatch = false;
        _cursor.Close();
        LeaveQueue(isDone: false);
    }

    /// <summary>Fetches again what is left of a batch that was read in the other way.</summary>
    private void Reopen()
    {
        QueueCursor cursor = _cursor.Queue;
        EndHanding();
        _isInBatch = false;
        _cursor.Close();
        LeaveQueue(isDone: false);
        if (!cursor.IsRemoved)
            Seek(cursor, new QueueOffset(cursor.Delivered));
    }

    /// <summary>Puts the answer aside, at its place, until the membership is sure again.</summary>
    private void Withhold()
    {
        // First in the list: it may just have been taken from there, and those of its session must keep their order.
        _withheld.Insert(0, new Withheld(_answer!, _queueIndex, _queue, _entries));
        _answer = null;
        LeaveQueue(isDone: false);
    }

    /// <summary>Puts an answer behind those of its session that are withheld: it must not overtake them.</summary>
    private bool TryQueueUp()
    {
        FetchSession session = _answer!.Session;
        if (!_withheld.Exists(held => held.Answer.Session == session))
            return false;
        _withheld.Add(new Withheld(_answer, 0, null, default));
        _answer = null;
        return true;
    }

    /// <summary>Goes on where an answer was put aside, in the middle of a queue's share or before the first.</summary>
    private bool TryRestore()
    {
        int index = _withheld.FindIndex(static held => held.Answer.Session.Lease is not { IsOver: true });
        if (index < 0)
            return false;
        Withheld held = _withheld[index];
        _withheld.RemoveAt(index);
        _answer = held.Answer;
        _queueIndex = held.QueueIndex;
        _queue = held.Queue ?? default;
        _entries = held.Entries;
        _isInQueue = held.Queue is not null;
        return true;
    }

    /// <summary>Whether something was put aside that may be handed out now.</summary>
    private bool IsLeaseBack() =>
        _withheld.Count > 0 && _withheld.Exists(static held => held.Answer.Session.Lease is not { IsOver: true });

    /// <summary>An answer that waits for its lease.</summary>
    /// <param name="Answer">What was fetched.</param>
    /// <param name="QueueIndex">The next queue's place in it.</param>
    /// <param name="Queue">The queue that was being read; null if it was not begun.</param>
    /// <param name="Entries">What is left of its share.</param>
    private readonly record struct Withheld(
        FetchedAnswer Answer, int QueueIndex, FetchedQueue? Queue, ReadOnlyMemory<byte> Entries);
}
