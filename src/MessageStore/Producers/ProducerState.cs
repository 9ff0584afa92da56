namespace EQueue.MessageStore;

/// <summary>One producer: its epoch and what it stored last in each queue. Under the log's lock.</summary>
internal sealed class ProducerState(long id, short epoch, ProducerTable? table = null)
{
    // A producer mostly sends to the queue it sent to before.
    private uint _lastQueue;
    private SequenceWindow? _lastWindow;

    public long Id { get; } = id;

    public short Epoch { get; private set; } = epoch;

    /// <summary>When the epoch was given, then when it last stored something; Unix milliseconds.</summary>
    public long LastSeenMs { get; set; }

    /// <summary>The windows by queue id.</summary>
    public Dictionary<uint, SequenceWindow> Windows { get; } = [];

    /// <summary>Starts a new epoch, whose sequences begin at 0 in every queue; nothing for an epoch that is not
    /// newer.</summary>
    public void Raise(short epoch)
    {
        if (epoch > Epoch)
        {
            Epoch = epoch;
            table?.CountWindows(-Windows.Count);
            Windows.Clear();
            _lastWindow = null;
        }
    }

    /// <summary>The window of a queue; null before its first batch.</summary>
    public SequenceWindow? Find(QueueId queue)
    {
        if (_lastWindow is not null && _lastQueue == queue.Value)
            return _lastWindow;
        if (!Windows.TryGetValue(queue.Value, out SequenceWindow? window))
            return null;
        (_lastQueue, _lastWindow) = (queue.Value, window);
        return window;
    }

    /// <summary>The window of a queue, made at its first batch.</summary>
    public SequenceWindow FindOrAdd(QueueId queue)
    {
        SequenceWindow? window = Find(queue);
        if (window is null)
        {
            window = new SequenceWindow();
            table?.CountWindows(1);
            Windows.Add(queue.Value, window);
        }
        return window;
    }

    /// <summary>Forgets queues that were removed: ids are never used again.</summary>
    public void ForgetRemoved(QueueTable queues)
    {
        foreach (uint queue in Windows.Keys)
        {
            if (queues.Find(new QueueId(queue)) is null)
            {
                Windows.Remove(queue);
                table?.CountWindows(-1);
                _lastWindow = null;
            }
        }
    }
}
