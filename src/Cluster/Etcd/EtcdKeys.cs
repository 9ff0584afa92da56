namespace EQueue.Cluster.Etcd;

/// <summary>One key, or all from one key up to another.</summary>
/// <param name="From">The first.</param>
/// <param name="To">The one after the last; null for <paramref name="From"/> alone.</param>
public readonly record struct EtcdKeys(string From, string? To)
{
    /// <summary>One key.</summary>
    public static EtcdKeys One(string key) => new(key, null);

    /// <summary>All keys that begin so.</summary>
    /// <param name="prefix">Ends with an ASCII character.</param>
    public static EtcdKeys Below(string prefix) => new(prefix, prefix[..^1] + (char)(prefix[^1] + 1));
}
