namespace EQueue.Cluster.Etcd;

/// <summary>Why etcd gave no answer that can be used.</summary>
public enum EtcdTrouble
{
    /// <summary>No member answered in time. What was sent may have happened, and may still happen.</summary>
    Unavailable,

    /// <summary>etcd takes no writes: its space is used up, and an alarm (NOSPACE) stands until it is disarmed.
    /// Reads go on.</summary>
    NoSpace,

    /// <summary>Wrong user or password, no permission for the key, or a node that is not one of the shard's.</summary>
    Refused,

    /// <summary>The answer is not etcd's, or a key holds what this program cannot read.</summary>
    Malformed,
}
