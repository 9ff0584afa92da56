namespace EQueue.Replication;

/// <summary>Why a transaction is made.</summary>
public enum TransactionKind
{
    /// <summary>A holder of a seat makes itself the leader of a new epoch (rule R2).</summary>
    Claim,

    /// <summary>The leader lets a replica into the set or out of it (rule R8).</summary>
    SetChange,

    /// <summary>The next life of a process takes over the seat of its directory (rule R9).</summary>
    TakeOver,

    /// <summary>The longest of the dead seats' directories leads alone (rule R10).</summary>
    Election,
}

/// <summary>A compare-and-put over a shard's state: it succeeds as a whole or changes nothing.</summary>
/// <param name="Kind">Why.</param>
/// <param name="ExpectedRevision">The revision that the state must still have.</param>
/// <param name="Expected">The value that the state must still have: a restored etcd can give a revision twice.</param>
/// <param name="Author">The node whose key must still hold this life.</param>
/// <param name="Acted">The epoch that the author acted on last: <c>history</c> must still hold it (rule R11).</param>
/// <param name="Next">The new state. A higher epoch puts its nonce under <c>history</c> as well.</param>
public sealed record Transaction(
    TransactionKind Kind, long ExpectedRevision, ShardState? Expected, Seat Author, EpochMark Acted,
    ShardState Next)
{
    /// <summary>Whether it begins an epoch.</summary>
    public bool IsNewEpoch => Expected is null || Next.Epoch > Expected.Epoch;
}
