namespace EQueue.Cluster.Etcd;

/// <summary>What a transaction does with keys.</summary>
public enum EtcdAct
{
    /// <summary>Reads them.</summary>
    Range,

    /// <summary>Writes one.</summary>
    Put,

    /// <summary>Removes them.</summary>
    Delete,
}

/// <summary>One step of a transaction. A key may be written or removed by one step alone.</summary>
/// <param name="Act">What is done.</param>
/// <param name="Keys">With which keys.</param>
/// <param name="Content">What <see cref="EtcdAct.Put"/> writes.</param>
public sealed record EtcdOperation(EtcdAct Act, EtcdKeys Keys, byte[]? Content = null)
{
    /// <summary>Reads keys.</summary>
    public static EtcdOperation Range(EtcdKeys keys) => new(EtcdAct.Range, keys);

    /// <summary>Writes a key.</summary>
    public static EtcdOperation Put(string key, byte[] content)
        => new(EtcdAct.Put, EtcdKeys.One(key), content);

    /// <summary>Removes keys.</summary>
    public static EtcdOperation Delete(EtcdKeys keys) => new(EtcdAct.Delete, keys);
}
