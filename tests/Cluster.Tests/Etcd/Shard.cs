using System.Security.Cryptography;
using EQueue.Cluster.Etcd;
using EQueue.Replication;
using EQueue.Support;

namespace EQueue.Cluster.Tests.Etcd;

/// <summary>A cluster of a test's own: nodes a, b and c, begun by a.</summary>
internal sealed class Shard
{
    private int _lastEpoch;

    private Shard(IEtcd etcd, string cluster)
    {
        Etcd = etcd;
        Cluster = cluster;
        Keys = new ShardKeys(cluster, 0);
    }

    public static CancellationToken None => TestContext.Current.CancellationToken;

    public static ClusterRecord Record { get; } = new(
        Guid.NewGuid(), Guid.NewGuid(), Guid.NewGuid(), new DateTimeOffset(2026, 11, 27, 14, 0, 0, TimeSpan.Zero), 1, true);

    public IEtcd Etcd { get; }

    public string Cluster { get; }

    public ShardKeys Keys { get; }

    public CollectedLog Log { get; } = new();

    /// <summary>The node a, which has put its key.</summary>
    public EtcdShard A { get; private set; } = null!;

    /// <summary>This life of a.</summary>
    public Seat SeatA { get; } = NewSeat("a");

    public static Seat NewSeat(string node) => new(node, new Life(NewNumber()));

    public static Nonce NewNonce() => new(NewNumber());

    public static string NewName() => $"t{Guid.NewGuid():n}";

    /// <summary>Creates the cluster; a has put its key, and the shard has not begun.</summary>
    public static async Task<Shard> CreateAsync(IEtcd etcd)
    {
        var shard = new Shard(etcd, NewName());
        shard.A = shard.Node("a");
        Assert.True(await shard.A.CreateAsync(Record, ["a", "b", "c"], null, None));
        Assert.True(await shard.A.PutNodeAsync(shard.SeatA.Life, "127.0.0.1:9490", None));
        return shard;
    }

    /// <summary>Creates the cluster; a holds the only seat.</summary>
    public static async Task<Shard> BeginAsync(IEtcd etcd)
    {
        Shard shard = await CreateAsync(etcd);
        Assert.True(await shard.A.TryBeginAsync(shard.SeatA, None));
        return shard;
    }

    /// <summary>A node's view of it.</summary>
    public EtcdShard Node(string name, IEtcd? etcd = null) => new(etcd ?? Etcd, Cluster, name, 0, Log);

    public async Task<ShardView> ReadAsync() => (await A.ReadAsync(None))!.Shard;

    /// <summary>A claim of a seat on top of what is there now.</summary>
    public async Task<Transaction> ClaimAsync(Seat? author = null) => Claim(await ReadAsync(), author ?? SeatA);

    /// <summary>A claim on top of a view.</summary>
    public static Transaction Claim(ShardView view, Seat author)
    {
        ShardState now = view.State!;
        EpochMark acted = now.Epoch == 0 ? default : new EpochMark(now.Epoch, now.Nonce);
        return new Transaction(
            TransactionKind.Claim, view.Revision, now, author, acted,
            now with { Epoch = now.Epoch + 1, Leader = author, Nonce = NewNonce() });
    }

    /// <summary>Begins one epoch more.</summary>
    public async Task<ShardView> NextEpochAsync()
    {
        TransactionResult result = await A.TransactAsync(await ClaimAsync(), None);
        Assert.Equal(TransactionOutcome.Succeeded, result.Outcome);
        Assert.Equal(++_lastEpoch, result.View!.State!.Epoch);
        return result.View;
    }

    /// <summary>Writes a key as a person does with etcdctl.</summary>
    public async Task PutAsync(string key, byte[] value)
        => await Etcd.TransactAsync([], [EtcdOperation.Put(key, value)], [], None);

    public Task PutAsync(string key, string value) => PutAsync(key, global::System.Text.Encoding.UTF8.GetBytes(value));

    public async Task DeleteAsync(EtcdKeys keys)
        => await Etcd.TransactAsync([], [EtcdOperation.Delete(keys)], [], None);

    public async Task<byte[]> ValueAsync(string key)
        => Assert.Single((await Etcd.RangeAsync(EtcdKeys.One(key), None)).Values).Value;

    private static UInt128 NewNumber()
    {
        byte[] bytes = RandomNumberGenerator.GetBytes(16);
        return new UInt128(BitConverter.ToUInt64(bytes, 0), BitConverter.ToUInt64(bytes, 8));
    }
}
