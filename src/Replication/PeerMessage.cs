using EQueue.Protocol;

namespace EQueue.Replication;

/// <summary>What replicas of one shard say to each other.</summary>
public abstract record PeerMessage;

/// <summary>A follower asks for what comes after its end, and tells how far it is.</summary>
/// <param name="From">Who asks.</param>
/// <param name="Session">Random; another one each time the follower begins anew.</param>
/// <param name="Epoch">The epoch that the follower acts on.</param>
/// <param name="Tail">The end of its log.</param>
/// <param name="Position">What counts for the set: durable with the sync policy, written with the async one.</param>
/// <param name="Durable">What its disk has.</param>
/// <param name="IsFull">Whether its disk has no room for more messages, were it the leader's.</param>
public sealed record Fetch(
    Seat From, long Session, int Epoch, LogTail Tail, LogPosition Position, LogPosition Durable, bool IsFull = false)
    : PeerMessage;

/// <summary>What the leader says of a follower's tail.</summary>
public enum FetchVerdict
{
    /// <summary>The logs are equal up to the follower's end.</summary>
    Matched,

    /// <summary>They are not: the named epoch ends at the named position here.</summary>
    Diverging,

    /// <summary>Both have an entry of one epoch at one position, and they differ.</summary>
    Mismatch,

    /// <summary>The two act on different epochs; the follower asks etcd and cuts nothing.</summary>
    OtherEpoch,

    /// <summary>The leader of this epoch is still opening its log: nothing is said of the follower's.</summary>
    Opening,

    /// <summary>The leader has no entries at the follower's end any more: its files must be copied.</summary>
    Gone,
}

/// <summary>The answer to a fetch.</summary>
/// <param name="Session">The fetch's session.</param>
/// <param name="Epoch">The epoch of who answers.</param>
/// <param name="Verdict">What the leader says of the follower's tail.</param>
/// <param name="Committed">What is committed.</param>
/// <param name="DivergingEpoch">With Diverging: the newest epoch up to the follower's last that the leader has.</param>
/// <param name="DivergingEnd">With Diverging: where that epoch ends in the leader's log.</param>
/// <param name="Entries">With Matched: what follows, as the store keeps it; null for a heartbeat.</param>
public sealed record FetchAnswer(
    long Session,
    int Epoch,
    FetchVerdict Verdict,
    LogPosition Committed,
    int DivergingEpoch = 0,
    LogPosition DivergingEnd = default,
    object? Entries = null) : PeerMessage;

/// <summary>A follower tells that its position has moved without asking for more.</summary>
/// <param name="From">Who tells.</param>
/// <param name="Session">The session of its fetches.</param>
/// <param name="Epoch">The epoch that the follower acts on.</param>
/// <param name="Position">As in <see cref="Fetch"/>.</param>
/// <param name="Durable">As in <see cref="Fetch"/>.</param>
public sealed record Ack(Seat From, long Session, int Epoch, LogPosition Position, LogPosition Durable)
    : PeerMessage;

/// <summary>A follower stops in order: nothing more will come of this life.</summary>
/// <param name="From">Who stops.</param>
public sealed record Farewell(Seat From) : PeerMessage;

/// <summary>Asks a node what it knows.</summary>
/// <param name="From">Who asks.</param>
/// <param name="Round">Given back in the report.</param>
public sealed record StateQuestion(Seat From, long Round) : PeerMessage;

/// <summary>What a node knows.</summary>
/// <param name="From">Who reports.</param>
/// <param name="Round">The question's number.</param>
/// <param name="Epoch">The epoch that it acts on.</param>
/// <param name="Tail">The end of its log.</param>
/// <param name="Former">Lives that its directory had before.</param>
/// <param name="Committed">What it knows to be committed.</param>
/// <param name="HearsLeader">Whether it leads in that epoch or has heard its leader lately.</param>
public sealed record StateReport(
    Seat From, long Round, int Epoch, LogTail Tail, IReadOnlyList<Life> Former, LogPosition Committed, bool HearsLeader)
    : PeerMessage;

/// <summary>The leader of a new epoch tells that there is something to be read in etcd.</summary>
/// <param name="Epoch">The new epoch.</param>
public sealed record EpochNotice(int Epoch) : PeerMessage;
