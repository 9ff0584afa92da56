namespace EQueue.MessageStore;

/// <summary>Readers that wait for new messages of a queue. An append moves the queue's watchers to the ready list; the
/// thread that makes its position visible tells them.</summary>
/// <remarks>Owns that list and two spare lists, which are used again: at rest a reader waits, and is told, with every
/// message. Any thread; the list is kept under the log's lock, and signals are called without it.</remarks>
/// <param name="gate">The log's lock.</param>
/// <param name="queues">Each has its watchers.</param>
/// <param name="marks">What is visible.</param>
internal sealed class QueueWatches(Lock gate, QueueTable queues, Watermarks marks)
{
    private readonly List<(QueueId Queue, long Position, List<ReadySignal> Signals)> _ready = [];
    private List<(QueueId Queue, List<ReadySignal> Signals)>? _spareTold;
    private List<ReadySignal>? _spareSignals;

    /// <inheritdoc cref="QueueStore.Watch"/>
    public bool Watch(QueueId id, QueueOffset from, ReadySignal signal)
    {
        lock (gate)
        {
            Queue? queue = queues.FindVisible(id);
            if (queue is null || from.Value < queue.VisibleEnd(marks.Visible))
                return false;
            if (queue.IsRemoved)
            {
                // Told when that is visible, whatever comes first.
                _ready.Add((id, marks.Staged - 1, [signal]));
                return true;
            }
            if (from.Value >= queue.NextOffset)
            {
                (queue.Watchers ??= TakeSpareSignals()).Add(signal);
                return true;
            }
            // Staged and not visible yet. The publisher may have moved on meanwhile: it looks at the list under this
            // lock, after moving.
            _ready.Add((id, PositionOf(queue, from.Value), [signal]));
            return !TakeIfVisible(_ready.Count - 1);
        }
    }

    /// <inheritdoc cref="QueueStore.Unwatch"/>
    public void Unwatch(QueueId id, ReadySignal signal)
    {
        lock (gate)
        {
            if (queues.Find(id) is { Watchers: { } watchers } queue
                && watchers.Remove(signal) && watchers.Count == 0)
            {
                queue.Watchers = null;
            }
            foreach ((QueueId ready, long _, List<ReadySignal> signals) in _ready)
            {
                if (ready == id)
                    signals.Remove(signal);
            }
        }
    }

    /// <summary>The watchers of a queue are to be told when a position is visible: a message was staged there, or the
    /// removal of the queue, which they find gone then. Under the log's lock.</summary>
    public void Move(Queue queue, long position)
    {
        if (queue.Watchers is not { } watchers)
            return;
        _ready.Add((queue.Id, position, watchers));
        queue.Watchers = null;
    }

    /// <summary>Tells those whose position is visible. One thread at a time, without the log's lock.</summary>
    public void Tell(long visible)
    {
        List<(QueueId Queue, List<ReadySignal> Signals)>? told = null;
        lock (gate)
        {
            int kept = 0;
            for (int i = 0; i < _ready.Count; i++)
            {
                (QueueId queue, long position, List<ReadySignal> signals) = _ready[i];
                if (position < visible)
                    (told ??= Interlocked.Exchange(ref _spareTold, null) ?? []).Add((queue, signals));
                else
                    _ready[kept++] = _ready[i];
            }
            _ready.RemoveRange(kept, _ready.Count - kept);
        }
        if (told is null)
            return;
        foreach ((QueueId queue, List<ReadySignal> signals) in told)
            Tell(queue, signals);
        told.Clear();
        Volatile.Write(ref _spareTold, told);
    }

    private List<ReadySignal> TakeSpareSignals() => Interlocked.Exchange(ref _spareSignals, null) ?? [];

    /// <summary>Tells the signals of a list that is in no other hands.</summary>
    private void Tell(QueueId queue, List<ReadySignal> signals)
    {
        foreach (ReadySignal signal in signals)
            signal.OnReady(queue);
        signals.Clear();
        Volatile.Write(ref _spareSignals, signals);
    }

    private static long PositionOf(Queue queue, long offset)
    {
        for (IndexRun? run = queue.Tail; run is not null; run = run.Previous)
        {
            if (offset >= run.FirstOffset || run.Previous is null)
            {
                int count = run.Count;
                int index = run.IndexOf(offset, count);
                return run.PositionOf(Math.Min(index, count - 1));
            }
        }
        return 0;
    }

    private bool TakeIfVisible(int index)
    {
        if (_ready[index].Position >= marks.Visible)
            return false;
        _ready.RemoveAt(index);
        return true;
    }
}
