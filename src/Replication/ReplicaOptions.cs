namespace EQueue.Replication;

/// <summary>Times and numbers of a shard, the same at all of its nodes.</summary>
public sealed record ReplicaOptions
{
    /// <summary>The nodes of the shard, this one included.</summary>
    public required IReadOnlyList<string> Nodes { get; init; }

    /// <summary>The number of seats that the leader fills. Default 3.</summary>
    public int SeatCount { get; init; } = 3;

    /// <summary>Whether an entry counts at a seat once it is durable there (true, the default) or written.</summary>
    public bool IsSync { get; init; } = true;

    /// <summary>How long a fetch waits for entries, in milliseconds: the heartbeat. Default 500.</summary>
    public int FetchWaitMs { get; init; } = 500;

    /// <summary>Silence after which a leader is suspected, in milliseconds; the others have been asked until then.
    /// Default 1,500.</summary>
    public int SuspectMs { get; init; } = 1500;

    /// <summary>How long a replica waits for the others' reports before it suspects, in milliseconds. Default
    /// 200.</summary>
    public int ReportMs { get; init; } = 200;

    /// <summary>The longest random delay before a claim, in milliseconds. Default 50.</summary>
    public int ClaimDelayMs { get; init; } = 50;

    /// <summary>Silence after which the leader lets a seat out of the set, in milliseconds. Default 2,000.</summary>
    public int SeatSilenceMs { get; init; } = 2000;

    /// <summary>How long a seat may stand still while there is more, before it counts as behind, in milliseconds.
    /// Default 500.</summary>
    public int StallMs { get; init; } = 500;

    /// <summary>How long a seat may lack what the leader has, before it counts as behind, in milliseconds. Default
    /// 2,000.</summary>
    public int LagMs { get; init; } = 2000;

    /// <summary>The time over which a seat's being behind is summed up, in milliseconds. Default 10,000.</summary>
    public int LagWindowMs { get; init; } = 10_000;

    /// <summary>A seat that was behind for more of that time is let out, in milliseconds. Default 2,000.</summary>
    public int MostLagMs { get; init; } = 2000;

    /// <summary>First and longest time for which a seat that was let out is not let in again, in milliseconds; each is
    /// four times the one before. Defaults 10,000 and 600,000.</summary>
    public (int First, int Longest) LagBackOffMs { get; init; } = (10_000, 600_000);

    /// <summary>How long a leader's disk is full before another one leads that has room, in milliseconds: retention
    /// may help before. Default 3,000.</summary>
    public int FullMs { get; init; } = 3000;

    /// <summary>A replica that was not running for longer begins all its counts of silence anew, in milliseconds.
    /// Default 500.</summary>
    public int PauseMs { get; init; } = 500;

    /// <summary>Time between two reads of etcd, and before an unanswered transaction is repeated. Default 500
    /// ms.</summary>
    public int EtcdMs { get; init; } = 500;

    /// <summary>Time after which an unanswered fetch is given up and a new session begins. Default 1,000 ms.</summary>
    public int AnswerMs { get; init; } = 1000;

    /// <summary>How long a leader that opens its log keeps the others waiting, in milliseconds; then they claim.
    /// Default 30,000.</summary>
    public int OpeningMs { get; init; } = 30_000;

    /// <summary>How much later a replica whose disk is full claims, in milliseconds: one that has room goes first.
    /// Default 500.</summary>
    public int FullDelayMs { get; init; } = 500;

    /// <summary>First and longest wait after a claim that did not open, in milliseconds. Defaults 1,000 and
    /// 30,000.</summary>
    public (int First, int Longest) ClaimBackOffMs { get; init; } = (1000, 30_000);
}
