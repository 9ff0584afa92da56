using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Who waits for new messages of a queue. An append moves the queue's watchers to the ready list; publishing
/// its position tells them.</summary>
internal sealed partial class CommitLog
{
    private readonly List<(QueueId Queue, long Position, List<ReadySignal> Signals)> _ready = [];

    // To be used again: at rest a reader waits, and is told, with every message.
    private List<(QueueId Queue, List<ReadySignal> Signals)>? _spareTold;
    private List<ReadySignal>? _spareSignals;

    /// <inheritdoc cref="QueueStore.Watch"/>
    public bool Watch(QueueId id, QueueOffset from, ReadySignal signal)
    {
        lock (_lock)
        {
            Queue? queue = _state.Queues.FindVisible(id);
            if (queue is null || from.Value < queue.VisibleEnd(Visible))
                return false;
            if (queue.IsRemoved)
            {
                // Told when that is visible, whatever comes first.
                _ready.Add((id, _marks.Staged - 1, [signal]));
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
        lock (_lock)
        {
            if (_state.Queues.Find(id) is { Watchers: { } watchers } queue
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

    /// <summary>A queue is about to be removed: its watchers are told when that is visible, and then find it
    /// gone.</summary>
    private void MoveWatchers(in StateRecord removal, long position)
    {
        QueueId id = LogState.QueueOf(removal);
        if (_state.Queues.Find(id) is { Watchers: { } watchers } queue)
        {
            _ready.Add((id, position, watchers));
            queue.Watchers = null;
        }
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
        if (_ready[index].Position >= Visible)
            return false;
        _ready.RemoveAt(index);
        return true;
    }

    private void ShowTaken(long visible)
    {
        if (_state.Queues.HasTaken(visible))
        {
            lock (_lock)
                _state.Queues.Settle(visible);
        }
    }

    private void TellWatchers(long visible)
    {
        List<(QueueId Queue, List<ReadySignal> Signals)>? told = null;
        lock (_lock)
        {
            int kept = 0;
            for (int i = 0; i < _ready.Count; i++)
            {
                (QueueId queue, long position, List<ReadySignal> signals) = _ready[i];
                if (position < visible)
                {
                    (told ??= Interlocked.Exchange(ref _spareTold, null) ?? []).Add((queue, signals));
                }
                else
                {
                    _ready[kept++] = _ready[i];
                }
            }
            _ready.RemoveRange(kept, _ready.Count - kept);
        }
        if (told is not null)
        {
            foreach ((QueueId queue, List<ReadySignal> signals) in told)
                Tell(queue, signals);
            told.Clear();
            Volatile.Write(ref _spareTold, told);
        }
    }
}
