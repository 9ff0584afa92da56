namespace EQueue.Replication;

/// <summary>Why a replica ends.</summary>
public enum StopReason
{
    /// <summary>It holds entries that a leader contradicts below what was committed: kept aside, copied anew.</summary>
    SetAside,

    /// <summary>The leader has no entries any more where this log ends: its files are copied by a new life.</summary>
    Gone,

    /// <summary>Two logs have different entries under one epoch and position.</summary>
    Mismatch,

    /// <summary>etcd no longer knows the epoch that this replica acted on last: its history is another one.</summary>
    ForeignHistory,
}
