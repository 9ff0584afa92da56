namespace EQueue.Cluster.Etcd;

/// <summary>What a transaction compares.</summary>
public enum EtcdTarget
{
    /// <summary>The revision of the key's last change; 0 for a key that is not there.</summary>
    ModRevision,

    /// <summary>The key's value; a key that is not there has none that fits.</summary>
    Value,

    /// <summary>No key of the range is there.</summary>
    Absent,

    /// <summary>The key is there.</summary>
    Present,
}

/// <summary>One condition of a transaction.</summary>
/// <param name="Keys">The key; a range for <see cref="EtcdTarget.Absent"/>.</param>
/// <param name="Target">What is compared.</param>
/// <param name="Revision">What <see cref="EtcdTarget.ModRevision"/> must be.</param>
/// <param name="Content">What <see cref="EtcdTarget.Value"/> must be.</param>
public sealed record EtcdCompare(EtcdKeys Keys, EtcdTarget Target, long Revision = 0, byte[]? Content = null)
{
    /// <summary>The key was last changed at this revision.</summary>
    public static EtcdCompare IsAt(string key, long revision)
        => new(EtcdKeys.One(key), EtcdTarget.ModRevision, revision);

    /// <summary>The key holds these bytes.</summary>
    public static EtcdCompare Holds(string key, byte[] content)
        => new(EtcdKeys.One(key), EtcdTarget.Value, Content: content);

    /// <summary>None of the keys is there.</summary>
    public static EtcdCompare IsAbsent(EtcdKeys keys) => new(keys, EtcdTarget.Absent);

    /// <summary>The key is there.</summary>
    public static EtcdCompare IsPresent(string key) => new(EtcdKeys.One(key), EtcdTarget.Present);
}
