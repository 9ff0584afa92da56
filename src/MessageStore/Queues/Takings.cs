using System.Collections.Concurrent;

namespace EQueue.MessageStore;

/// <summary>What takes messages away from readers and is staged, but not visible yet: queues removed, starts moved. As
/// long as it may still be undone readers see what was before.</summary>
/// <remarks>Changed under the log's lock (or by recovery); looked at by anybody.</remarks>
internal sealed class Takings
{
    private readonly ConcurrentDictionary<QueueId, Queue> _removed = [];
    private readonly Queue<(long Position, Queue Queue, long? Start)> _pending = new();
    private long _next = long.MaxValue;

    /// <summary>Whether something is to be shown when the log is visible up to there.</summary>
    public bool IsDue(long visible) => Volatile.Read(ref _next) <= visible;

    /// <summary>The queue if it is removed and readers do not know yet.</summary>
    public Queue? FindRemoved(QueueId id) =>
        Volatile.Read(ref _next) != long.MaxValue ? _removed.GetValueOrDefault(id) : null;

    /// <summary>Adds a start; positions never fall.</summary>
    public void Add(Queue queue, long start, long position) => Enqueue(position, queue, start);

    /// <summary>Adds a removal; positions never fall.</summary>
    public void AddRemoved(Queue queue, long position)
    {
        _removed[queue.Id] = queue;
        Enqueue(position, queue, start: null);
    }

    /// <summary>Shows what was taken away up to a position.</summary>
    public void Settle(long visible)
    {
        while (_pending.TryPeek(out (long Position, Queue Queue, long? Start) taken) && taken.Position <= visible)
        {
            _pending.Dequeue();
            if (taken.Start is { } start)
                taken.Queue.VisibleStart = start;
            else
                _removed.TryRemove(taken.Queue.Id, out _);
        }
        bool isPending = _pending.TryPeek(out (long Position, Queue Queue, long? Start) next);
        Volatile.Write(ref _next, isPending ? next.Position : long.MaxValue);
    }

    private void Enqueue(long position, Queue queue, long? start)
    {
        _pending.Enqueue((position, queue, start));
        Volatile.Write(ref _next, _pending.Peek().Position);
    }
}
