using System.Text;
using EQueue.Cluster.Etcd;
using EQueue.Replication;

namespace EQueue.Cluster.Tests.Etcd;

public sealed class ShardKeysTests(EtcdServer server) : IClassFixture<EtcdServer>
{
    private const string Life1 = "000102030405060708090a0b0c0d0e0f";

    private static CancellationToken None => Shard.None;

    public static TheoryData<string, string> Garbage => new()
    {
        { "cluster", "" },
        { "cluster", "garbage" },
        { "cluster", "null" },
        { "cluster", """{"version":1}""" },
        { "cluster", Cluster(flush: "never") },
        { "cluster", Cluster(shardCount: 0) },
        { "shards/0/nodes", """["a","b"]""" },
        { "shards/0/nodes", """{"version":1,"nodes":[]}""" },
        { "shards/0/nodes", """{"version":1,"nodes":[null]}""" },
        { "shards/0/nodes", """{"version":1,"nodes":["a","a"]}""" },
        { "shards/0/nodes", """{"version":1,"nodes":["a/b"]}""" },
        { "shards/0/nodes", """{"version":2,"nodes":["a"],"racks":[1]}""" },
        { "nodes/a", $$"""{"version":1,"life":"{{Life1}}","address":"nowhere"}""" },
        { "nodes/a", $$"""{"version":1,"life":"{{Life1}}","address":"a:99999"}""" },
        { "nodes/a", $$"""{"version":1,"life":"{{Life1[1..]}}","address":"a:1"}""" },
        { "nodes/a", $$"""{"version":1,"life":"{{Life1.ToUpperInvariant()}}","address":"a:1"}""" },
        { "nodes/a", """{"version":1,"life":null,"address":"a:1"}""" },
        { "nodes/a", $$"""{"version":1, "life":"{{Life1}}","address":"a:1"}""" },
        { "nodes/a", $$"""{"version":1,"life":"{{Life1}}","address":"a:1","more":1}""" },
        { "nodes/a", $$"""{"version":1,"life":"{{Life1}}","address":"a:1","address":"a:1"}""" },
        { "shards/0/state", "{" },
        { "shards/0/state", State(epoch: -1) },
        { "shards/0/state", State(epoch: 1, seats: $$"""[{"node":"a","life":"{{Life1}}"},{"node":"b","life":"{{Life1}}"}]""") },
        { "shards/0/state", State(leader: $$"""{"node":"a","life":"{{Life1}}"}""") },
        { "shards/0/state", State(seats: "[]") },
        { "shards/0/state", State(seats: "[null]") },
        { "shards/0/state", State(seats: $$"""[{"node":"a","life":"x"}]""") },
        { "shards/0/state", State(min: 0) },
        { "shards/0/state", State(min: 2) },
        { "shards/0/state", State(nonce: "") },
        { "shards/0/history/0000000001", "\"" },
        { "shards/0/history/1", $$"""{"version":1,"nonce":"{{Life1}}"}""" },
        { "shards/0/history/9999999999", $$"""{"version":1,"nonce":"{{Life1}}"}""" },
    };

    [Fact]
    public async Task GivenNoCluster_WhenItIsRead_ThenThereIsNone()
        => Assert.Null(await new EtcdShard(server.Client, Shard.NewName(), null).ReadAsync(None));

    [Fact]
    public async Task GivenAClusterThatHasBegun_WhenItsKeysAreReadWithEtcdctl_ThenTheyAreInTheFormOfTheDocuments()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        await shard.NextEpochAsync();
        ShardState state = (await shard.ReadAsync()).State!;
        string life = shard.SeatA.Life.Value.ToString("x32");
        string nonce = state.Nonce.Value.ToString("x32");
        ClusterRecord record = Shard.Record;

        string[] lines = (await server.Process.ControlAsync("get", "--prefix", shard.Keys.Prefix)).Split('\n');

        Assert.Equal(
            [
                $"{shard.Keys.Prefix}cluster",
                $$"""{"version":1,"clusterId":"{{record.ClusterId}}","storeId":"{{record.StoreId}}","logId":"{{record.LogId}}","created":"2026-11-27T14:00:00+00:00","shardCount":1,"flush":"sync"}""",
                $"{shard.Keys.Prefix}nodes/a",
                $$"""{"version":1,"life":"{{life}}","address":"127.0.0.1:9490"}""",
                $"{shard.Keys.Prefix}shards/0/history/0000000001",
                $$"""{"version":1,"nonce":"{{nonce}}"}""",
                $"{shard.Keys.Prefix}shards/0/nodes",
                """{"version":1,"nodes":["a","b","c"]}""",
                $"{shard.Keys.Prefix}shards/0/state",
                $$"""{"version":1,"epoch":1,"leader":{"node":"a","life":"{{life}}"},"seats":[{"node":"a","life":"{{life}}"}],"min":1,"nonce":"{{nonce}}"}""",
                "",
            ],
            lines);
    }

    [Fact]
    public async Task GivenAClusterThatHasBegun_WhenItIsRead_ThenEverythingIsThere()
    {
        Shard shard = await Shard.BeginAsync(server.Client);

        ClusterView view = (await shard.A.ReadAsync(None))!;

        Assert.Equal(Shard.Record, view.Cluster);
        Assert.Equal(["a", "b", "c"], view.Nodes);
        Assert.Equal("127.0.0.1:9490", Assert.Single(view.Addresses).Value);
        Assert.Equal(shard.SeatA.Life, Assert.Single(view.Shard.Lives).Value);
        Assert.Equal(new ShardState(0, default, [shard.SeatA], 1, default), view.Shard.State);
        Assert.Empty(view.Shard.History);
        Assert.InRange(view.Shard.Revision, 1, view.EtcdRevision);
    }

    [Fact]
    public async Task GivenKeysOfALaterVersion_WhenTheClusterIsRead_ThenTheyArePassedOver()
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        await shard.PutAsync($"{shard.Keys.Prefix}users/root", "garbage");
        await shard.PutAsync($"{shard.Keys.Prefix}shards/1/state", "garbage");

        Assert.Equal(shard.SeatA, Assert.Single((await shard.ReadAsync()).State!.Seats));
    }

    [Theory]
    [MemberData(nameof(Garbage))]
    public async Task GivenAKeyWithGarbage_WhenTheClusterIsRead_ThenTheKeyIsNamed(string key, string value)
    {
        Shard shard = await Shard.BeginAsync(server.Client);
        await shard.PutAsync(shard.Keys.Prefix + key, value);

        EtcdException failure = await Assert.ThrowsAsync<EtcdException>(() => shard.A.ReadAsync(None));

        Assert.Equal(EtcdTrouble.Malformed, failure.Kind);
        Assert.Contains($"the key {shard.Keys.Prefix}{key} of etcd", failure.Message, StringComparison.Ordinal);
        if (value.Contains("\"version\":2", StringComparison.Ordinal))
            Assert.Contains("its version is 2", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenRandomBytesInEachKey_WhenTheClusterIsRead_ThenTheKeyIsNamed()
    {
        int seed = Random.Shared.Next();
        var random = new Random(seed);
        Shard shard = await Shard.BeginAsync(server.Client);
        await shard.NextEpochAsync();
        EtcdRange all = await server.Client.RangeAsync(shard.Keys.All, None);
        foreach (EtcdValue good in all.Values)
        {
            for (int round = 0; round < 200; round++)
            {
                byte[] bad = [.. good.Value];
                int at = random.Next(bad.Length);
                bad[at] ^= (byte)(1 << random.Next(8));
                EtcdRange changed = all with
                {
                    Values = [.. all.Values.Select(value => value == good ? value with { Value = bad } : value)],
                };
                // One bit may make another digit: then it is read. It is never taken for what it was, and never ends
                // in another exception.
                try
                {
                    ClusterView view = ClusterView.Read(shard.Keys, changed)!;
                    ClusterView right = ClusterView.Read(shard.Keys, all)!;
                    Assert.True(Texts(right) != Texts(view), $"seed {seed}: {Encoding.UTF8.GetString(bad)}");
                }
                catch (EtcdException failure)
                {
                    Assert.True(failure.Kind == EtcdTrouble.Malformed, $"seed {seed}: {failure}");
                    Assert.Contains(good.Key, failure.Message, StringComparison.Ordinal);
                }
            }
        }
    }

    private static string Texts(ClusterView view) => string.Join(
        '|',
        view.Cluster,
        string.Join(',', view.Nodes),
        string.Join(',', view.Addresses),
        string.Join(',', view.Shard.Lives),
        string.Join(',', view.Shard.History),
        Encoding.UTF8.GetString(ShardRecords.Write(view.Shard.State!)));

    private static string Cluster(string flush = "sync", int shardCount = 1) =>
        $$"""{"version":1,"clusterId":"{{Guid.Empty}}","storeId":"{{Guid.Empty}}","logId":"{{Guid.Empty}}","created":"2026-11-27T14:00:00+00:00","shardCount":{{shardCount}},"flush":"{{flush}}"}""";

    private static string State(
        int epoch = 0,
        string leader = "null",
        string seats = $$"""[{"node":"a","life":"{{Life1}}"}]""",
        int min = 1,
        string nonce = Life1) =>
        $$"""{"version":1,"epoch":{{epoch}},"leader":{{leader}},"seats":{{seats}},"min":{{min}},"nonce":"{{nonce}}"}""";
}
