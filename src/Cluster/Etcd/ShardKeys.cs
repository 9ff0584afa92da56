using System.Globalization;

namespace EQueue.Cluster.Etcd;

/// <summary>The keys of one shard of one cluster. The table in docs/cluster.md says what each holds.</summary>
public sealed class ShardKeys
{
    /// <summary>The number of epochs whose nonces are kept.</summary>
    public const int MostEpochs = 100;

    private const int EpochDigits = 10;

    /// <summary>The keys of a shard.</summary>
    /// <param name="cluster">The cluster's name.</param>
    /// <param name="shard">The shard's number, from 0 on.</param>
    public ShardKeys(string cluster, int shard)
    {
        Prefix = $"/equeue/{cluster}/";
        Cluster = $"{Prefix}cluster";
        NodePrefix = $"{Prefix}nodes/";
        ShardNodes = $"{Prefix}shards/{shard}/nodes";
        State = $"{Prefix}shards/{shard}/state";
        HistoryPrefix = $"{Prefix}shards/{shard}/history/";
    }

    /// <summary>What all keys of the cluster begin with.</summary>
    public string Prefix { get; }

    /// <summary>All keys of the cluster.</summary>
    public EtcdKeys All => EtcdKeys.Below(Prefix);

    /// <summary>Who the cluster is.</summary>
    public string Cluster { get; }

    /// <summary>What the nodes' keys begin with.</summary>
    public string NodePrefix { get; }

    /// <summary>Which nodes the shard may use.</summary>
    public string ShardNodes { get; }

    /// <summary>Who leads the shard.</summary>
    public string State { get; }

    /// <summary>What the keys of the epochs begin with.</summary>
    public string HistoryPrefix { get; }

    /// <summary>A node's life and address.</summary>
    public string Node(string name) => NodePrefix + name;

    /// <summary>An epoch's nonce. Ten digits keep the keys in the epochs' order.</summary>
    public string History(int epoch) => HistoryPrefix + epoch.ToString("D10", CultureInfo.InvariantCulture);

    /// <summary>The epochs up to one, it included.</summary>
    public EtcdKeys HistoryUpTo(int epoch) => new(HistoryPrefix, History(epoch + 1));

    /// <summary>The epoch of a key below <see cref="HistoryPrefix"/>.</summary>
    internal bool TryReadEpoch(string key, out int epoch)
    {
        ReadOnlySpan<char> digits = key.AsSpan(HistoryPrefix.Length);
        epoch = 0;
        return digits.Length == EpochDigits
            && int.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out epoch);
    }
}
