namespace EQueue.MessageStore;

/// <summary>
/// All queues of the log by id, the state queue 0 among them. Changed under the log's lock (or by recovery), read by
/// anybody.
/// Ids are given out in rising order and never again, so the table is an array, in pages: an id that only damage can
/// have made costs one of them.
/// </summary>
internal sealed class QueueTable
{
    private const int PageBits = 11;
    private const uint PageSize = 1 << PageBits;

    private Queue?[]?[] _pages = [new Queue?[PageSize]];
    private readonly Takings _takings = new();
    private uint _nextId = 1;
    private int _count;

    public QueueTable() => _pages[0]![0] = new Queue(QueueId.State, default, 0);

    /// <summary>The log's own state.</summary>
    public Queue State => _pages[0]![0]!;

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
            foreach (Queue?[]? page in Volatile.Read(ref _pages))
            {
                foreach (Queue? queue in page ?? [])
                {
                    if (queue is { IsRemoved: false } && queue.Id != QueueId.State)
                        yield return queue;
                }
            }
        }
    }

    /// <summary>As <see cref="Find"/> for readers: a queue is there until its removal is visible.</summary>
    public Queue? FindVisible(QueueId id) => Find(id) ?? _takings.FindRemoved(id);

    /// <summary>The queue of that id, the state queue included; null when it never was or its removal is
    /// staged.</summary>
    public Queue? Find(QueueId id)
    {
        Queue?[]?[] pages = Volatile.Read(ref _pages);
        uint page = id.Value >> PageBits;
        return page < (uint)pages.Length ? pages[page]?[id.Value % PageSize] : null;
    }

    /// <summary>The first id from <paramref name="id"/> on that may have a queue; <see cref="NextId"/> when none
    /// has.</summary>
    public uint SkipEmpty(uint id)
    {
        Queue?[]?[] pages = _pages;
        for (uint page = id >> PageBits; page < (uint)pages.Length; page++)
        {
            if (pages[page] is not null)
                return Math.Max(id, page << PageBits);
        }
        return Math.Max(id, NextId);
    }

    /// <summary>Adds a queue, or gives the one that is there.</summary>
    public Queue Open(QueueId id, TopicId topicId, int number)
    {
        if (Find(id) is { } existing)
            return existing;
        var queue = new Queue(id, topicId, number);
        Volatile.Write(ref PageOf(id)[id.Value % PageSize], queue);
        NextId = id.Value + 1;
        _count++;
        return queue;
    }

    /// <summary>Moves the start of a queue forward; readers are shown it when the position is visible.</summary>
    public void MoveStart(Queue queue, long start, long startBytes, long position)
    {
        queue.Start = start;
        queue.StartBytes = startBytes;
        _takings.Add(queue, start, position);
    }

    /// <summary>What was taken away below this position is shown to readers.</summary>
    public void Settle(long visible) => _takings.Settle(visible);

    /// <summary>Whether <see cref="Settle"/> has something to show; any thread.</summary>
    public bool HasTaken(long visible) => _takings.IsDue(visible);

    /// <summary>Takes a queue out; nothing when it is not there. Readers find it until the position is
    /// visible.</summary>
    public void Remove(QueueId id, long position)
    {
        NextId = id.Value + 1;
        if (id != QueueId.State && Find(id) is { } queue)
        {
            queue.IsRemoved = true;
            _takings.AddRemoved(queue, position);
            Volatile.Write(ref PageOf(id)[id.Value % PageSize], null);
            _count--;
        }
    }

    private Queue?[] PageOf(QueueId id)
    {
        uint page = id.Value >> PageBits;
        Queue?[]?[] pages = _pages;
        if (page >= (uint)pages.Length)
        {
            Array.Resize(ref pages, (int)Math.Max(page + 1, Math.Min((uint)pages.Length * 2, 1u << (32 - PageBits))));
            Volatile.Write(ref _pages, pages);
        }
        if (pages[page] is not { } found)
        {
            found = new Queue?[PageSize];
            Volatile.Write(ref pages[page], found);
        }
        return found;
    }
}
