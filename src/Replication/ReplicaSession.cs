using EQueue.Protocol;

namespace EQueue.Replication;

/// <summary>What the leader knows of one node in its epoch.</summary>
internal sealed class ReplicaSession(ReplicaOptions options)
{
    private LogPosition _best;
    private bool _isTold;

    /// <summary>Who speaks in the newest session.</summary>
    public Seat Seat { get; private set; }

    /// <summary>The number of that session.</summary>
    public long Number { get; private set; }

    /// <summary>Whether its log was found equal to the leader's up to its end.</summary>
    public bool IsMatched { get; set; }

    /// <summary>Whether its position counts: matched, and not below what this node answered before.</summary>
    public bool Counts { get; private set; }

    /// <summary>How far it is.</summary>
    public LogPosition Position { get; private set; }

    /// <summary>What its disk has.</summary>
    public LogPosition Durable { get; private set; }

    /// <summary>Whether it holds the others up.</summary>
    public SeatLag Lag { get; private set; } = new(options);

    /// <summary>Whether its disk has no room for more messages.</summary>
    public bool IsFull { get; set; }

    /// <summary>Whether it has said that it stops.</summary>
    public bool HasLeft { get; private set; }

    /// <summary>When it was heard last.</summary>
    public long HeardMs { get; set; }

    /// <summary>The fetch that is not answered; null when there is none.</summary>
    public Fetch? Waiting { get; set; }

    /// <summary>When that fetch is answered without entries.</summary>
    public long WaitsUntilMs { get; set; }

    /// <summary>Begins a session when the fetch is of another one.</summary>
    public void Begin(Fetch fetch)
    {
        if (Seat == fetch.From && Number == fetch.Session)
            return;
        if (Seat != fetch.From)
            (Lag, HasLeft) = (new SeatLag(options), false);
        Seat = fetch.From;
        Number = fetch.Session;
        IsMatched = false;
        Counts = false;
        _isTold = false;
    }

    /// <summary>It stops: what still comes of this life is late.</summary>
    public void Leave() => HasLeft = true;

    /// <summary>Takes the positions of a matched session.</summary>
    /// <returns>False when it is below what this node answered before in this epoch.</returns>
    public bool TryCount(LogPosition position, LogPosition durable)
    {
        Position = position;
        Durable = durable;
        Counts = position >= _best;
        if (Counts)
            _best = position;
        return Counts;
    }

    /// <summary>Whether the fall has not been told yet in this session.</summary>
    public bool TryTell()
    {
        bool isFirst = !_isTold;
        _isTold = true;
        return isFirst;
    }
}
