namespace EQueue.Replication;

/// <summary>Why a replica ends.</summary>
public enum StopReason
{
    /// <summary>It holds entries that a leader contradicts below what was committed: kept aside, copied anew.</summary>
    SetAside,

    /// <summary>Two logs have different entries under one epoch and position.</summary>
    Mismatch,

    /// <summary>etcd no longer knows the epoch that this replica acted on last: its history is another one.</summary>
    ForeignHistory,
}
