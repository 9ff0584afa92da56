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

    /// <summary>Silence after which a leader is suspected, in milliseconds. Default 1,500.</summary>
    public int SuspectMs { get; init; } = 1500;

    /// <summary>How long a suspecting replica waits for the others' reports, in milliseconds. Default 200.</summary>
    public int ReportMs { get; init; } = 200;

    /// <summary>The longest random delay before a claim, in milliseconds. Default 50.</summary>
    public int ClaimDelayMs { get; init; } = 50;

    /// <summary>Silence after which the leader lets a seat out of the set, in milliseconds. Default 2,000.</summary>
    public int SeatSilenceMs { get; init; } = 2000;

    /// <summary>Time between two reads of etcd, and before an unanswered transaction is repeated. Default 500
    /// ms.</summary>
    public int EtcdMs { get; init; } = 500;

    /// <summary>Time after which an unanswered fetch is given up and a new session begins. Default 1,000 ms.</summary>
    public int AnswerMs { get; init; } = 1000;

    /// <summary>How long a leader that opens its log keeps the others waiting, in milliseconds; then they claim.
    /// Default 30,000.</summary>
    public int OpeningMs { get; init; } = 30_000;

    /// <summary>First and longest wait after a claim that did not open, in milliseconds. Defaults 1,000 and
    /// 30,000.</summary>
    public (int First, int Longest) ClaimBackOffMs { get; init; } = (1000, 30_000);
}
