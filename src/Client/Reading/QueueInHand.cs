namespace EQueue.Client;

/// <summary>The queue that the reader is at; none while it waits or no loop runs.</summary>
/// <remarks>
/// Written by the reader's thread, read by any. A queue is taken away by its mark and the reader by this word, each
/// written before the other is read: either the reader sees the mark, or the thread that took the queue away sees that
/// it is in hand and is notified when the reader leaves it.
/// </remarks>
internal sealed class QueueInHand
{
    private QueueCursor? _queue;

    /// <summary>Whether the application may stand at a message of a queue that was taken away.</summary>
    public bool Is(QueueCursor cursor)
    {
        Interlocked.MemoryBarrier();
        return Volatile.Read(ref _queue) == cursor;
    }

    /// <summary>The reader goes to a queue.</summary>
    /// <returns>False if the queue was taken away.</returns>
    public bool TryTake(QueueCursor cursor)
    {
        if (_queue != cursor)
        {
            Volatile.Write(ref _queue, cursor);
            Interlocked.MemoryBarrier();
        }

        return !cursor.IsRemoved;
    }

    /// <summary>The reader leaves the queue.</summary>
    public void Leave()
    {
        if (_queue is not { } cursor)
            return;
        Volatile.Write(ref _queue, null);
        Interlocked.MemoryBarrier();
        if (cursor.IsRemoved)
            cursor.Owner?.OnQueueLeft();
    }
}
