using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>
/// A queue that a reader reads, and the four places it keeps there: fetched, delivered, processed, committed.
/// </summary>
/// <remarks>
/// Fetch fields belong to the <see cref="FetchSession"/> and are used under its lock; the delivered offset belongs to
/// the reader's thread; processed, committed, grant and end are written by one thread and read by any.
/// </remarks>
internal sealed class QueueCursor(string topic, int number, QueueKey key, QueueOffset start)
{
    private long _processed = start.Value;
    private readonly long _start = start.Value;
    private long _committed = -1;
    private long _visibleEnd = -1;
    private long _grant = GroupGeneration.None.Value;
    private LogHistory? _history;
    private LogHistory? _committedIn;
    private volatile bool _isRemoved;
    private volatile bool _isGivenUp;

    public string Topic { get; } = topic;

    public int Number { get; } = number;

    public QueueKey Key { get; } = key;

    /// <summary>Where it is fetched.</summary>
    public FetchSession Session { get; set; } = null!;

    /// <summary>The membership by which it is read; null for a queue that the application named.</summary>
    public IReadingMember? Owner { get; init; }

    /// <summary>The generation in which it was given to the member.</summary>
    public GroupGeneration Grant
    {
        get => new(Volatile.Read(ref _grant));
        set => Volatile.Write(ref _grant, value.Value);
    }

    /// <summary>The next offset to ask for.</summary>
    public QueueOffset FetchNext { get; set; } = start;

    /// <summary>Whether the broker's session holds the queue at <see cref="FetchNext"/>.</summary>
    public bool IsInSession { get; set; }

    /// <summary>Not asked for, for now.</summary>
    public bool IsPaused { get; set; }

    /// <summary>Rises with each seek: what was fetched before it is dropped.</summary>
    public int Version { get; set; }

    /// <summary>Fetches in a row whose bytes did not match their CRC.</summary>
    public int CorruptCount { get; set; }

    /// <summary>The broker's epoch of the last entry read; -1 before the first.</summary>
    public int LastEpoch { get; set; } = -1;

    /// <summary>The history of the log in which its places are; null = not known, or no broker tells it.</summary>
    /// <remarks>Changed under the fetch session's lock, and only after the places: who reads it before them finds them
    /// judged by a history that is as old, or older.</remarks>
    public LogHistory? History
    {
        get => Volatile.Read(ref _history);
        set => Volatile.Write(ref _history, value);
    }

    /// <summary>What was fetched goes beyond the log's history: until the reader has gone back nothing is
    /// asked for.</summary>
    public HistoryFork? Fork { get; set; }

    /// <summary>The farthest offset that anything here names.</summary>
    public QueueOffset Farthest => new(Math.Max(FetchNext.Value, Math.Max(StopAt, VisibleEnd)));

    /// <summary>The history under which <see cref="Committed"/> was told. Under another one what is processed is
    /// committed again: the log may have lost the commit with its end. Null = never.</summary>
    public LogHistory? CommittedIn
    {
        get => Volatile.Read(ref _committedIn);
        set => Volatile.Write(ref _committedIn, value);
    }

    /// <summary>Whether the reader had to go back to a fork: messages that the application still works on may be none
    /// of the queue's.</summary>
    public bool HasForked { get; set; }

    /// <summary>The next offset to hand to the application.</summary>
    public long Delivered { get; set; } = start.Value;

    /// <summary>Reading ends here; -1 for never.</summary>
    public long StopAt { get; set; } = -1;

    /// <summary>In no commit any more: released, or lost.</summary>
    public bool IsGivenUp
    {
        get => _isGivenUp;
        set => _isGivenUp = value;
    }

    /// <summary>Nothing more of it is handed out.</summary>
    public bool IsRemoved
    {
        get => _isRemoved;
        set => _isRemoved = value;
    }

    /// <summary>Messages before this one are done with.</summary>
    public long Processed
    {
        get => Volatile.Read(ref _processed);
        set => Volatile.Write(ref _processed, value);
    }

    /// <summary>What the group has committed; -1 for nothing.</summary>
    public long Committed
    {
        get => Volatile.Read(ref _committed);
        set => Volatile.Write(ref _committed, value);
    }

    /// <summary>Whether messages were processed that would come again.</summary>
    public bool HasUncommitted => !IsGivenUp && Processed > Math.Max(Committed, _start);

    /// <summary>The queue's end when last heard of; -1 before.</summary>
    public long VisibleEnd
    {
        get => Volatile.Read(ref _visibleEnd);
        set => Volatile.Write(ref _visibleEnd, value);
    }

    /// <summary>Whether nothing is left before <see cref="StopAt"/>.</summary>
    public bool HasStopped => StopAt >= 0 && Delivered >= StopAt;

    public QueueProgress ToProgress() =>
        new(Topic, Number, new QueueOffset(Processed), new QueueOffset(Committed), new QueueOffset(VisibleEnd));
}
