using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>
/// All queues of the log by id, the state queue 0 among them. Changed under the log's lock (or by recovery), read by
/// anybody.
/// Ids are given out in rising order and never again, so the table is an array.
/// </summary>
internal sealed class QueueTable
{
    private Queue?[] _queues = new Queue?[64];
    private uint _nextId = 1;
    private int _count;

    public QueueTable() => _queues[0] = new Queue(QueueId.State, default, 0);

    /// <summary>The log's own state.</summary>
    public Queue State => _queues[0]!;

    /// <summary>The id that the next queue gets. Recovery raises it past every id that was ever given out.</summary>
    public uint NextId
    {
        get => _nextId;
        set => _nextId = Math.Max(_nextId, value);
    }

    /// <summary>Queues that exist, the state queue not counted.</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>The queues that exist, without the state queue.</summary>
    public IEnumerable<Queue> All
    {
        get
        {
            Queue?[] queues = Volatile.Read(ref _queues);
            for (int id = 1; id < queues.Length; id++)
            {
                if (queues[id] is { IsRemoved: false } queue)
                {
                    yield return queue;
                }
            }
        }
    }

    /// <summary>The queue of that id, the state queue included; null when it never was or was removed.</summary>
    public Queue? Find(QueueId id)
    {
        Queue?[] queues = Volatile.Read(ref _queues);
        return id.Value < (uint)queues.Length ? queues[id.Value] : null;
    }

    /// <summary>Adds a queue, or gives the one that is there.</summary>
    public Queue Open(QueueId id, TopicId topicId, int number)
    {
        if (Find(id) is { } existing)
        {
            return existing;
        }
        Queue?[] queues = _queues;
        if (id.Value >= (uint)queues.Length)
        {
            Array.Resize(ref queues, (int)Math.Max(id.Value + 1, Math.Min((uint)queues.Length * 2, Array.MaxLength)));
        }
        var queue = new Queue(id, topicId, number);
        Volatile.Write(ref queues[id.Value], queue);
        Volatile.Write(ref _queues, queues);
        NextId = id.Value + 1;
        _count++;
        return queue;
    }

    /// <summary>Takes a queue out; nothing when it is not there.</summary>
    public void Remove(QueueId id)
    {
        NextId = id.Value + 1;
        if (id != QueueId.State && Find(id) is { } queue)
        {
            queue.IsRemoved = true;
            Volatile.Write(ref _queues[id.Value], null);
            _count--;
        }
    }
}
