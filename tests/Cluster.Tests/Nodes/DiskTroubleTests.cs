using EQueue.Cluster.Tests.Etcd;
using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>A node whose disk is full or fails.</summary>
public sealed class DiskTroubleTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private const int DiskFull = 7030;
    private const int Resigns = 7043;

    [Fact]
    [Follows("Give it more room: ")]
    public async Task GivenAFollowerWhoseDiskIsFull_WhenMessagesAreSent_ThenTheOthersGoOnWithoutIt_UntilThereIsRoom()
    {
        var disk = new SimulatedDisk();
        await using TestCluster cluster = await StartAsync(disk);
        await using var load = new Load(cluster);
        await load.StoredAsync(50);

        disk.OnChange = Fail(DiskFault.Full);
        await cluster.LoggedAsync("c", DiskFull, "Give it more room");
        await cluster.SeatsAsync(2);
        await load.MoreAsync(50);
        Assert.Equal(1, cluster.CountOf("c", DiskFull));

        disk.OnChange = null;
        await cluster.SeatsAsync(3);
        await load.CheckAsync();
        Assert.False(cluster.Nodes[2].Node!.Completion.IsCompleted);
    }

    [Fact]
    public async Task GivenALeaderWhoseDiskIsFull_WhenMessagesAreSent_ThenOneThatHasRoomLeads()
    {
        var disk = new SimulatedDisk();
        await using TestCluster cluster = await StartAsync(disk, node: 0);
        await using var load = new Load(cluster);
        await load.StoredAsync(50);

        disk.Free = 0;
        await cluster.LoggedAsync("a", Resigns, "is full");
        await load.MoreAsync(50);
        TestNode leader = cluster.Leader!;
        Assert.NotEqual("a", leader.Name);

        // It follows on, and when the one that leads goes, the one that has room is the next.
        await cluster.SeatsAsync(3);
        await leader.KillAsync();
        await load.MoreAsync(50);
        Assert.NotEqual("a", cluster.Leader!.Name);
        await leader.StartAsync();
        await cluster.SeatsAsync(3);
        await load.CheckAsync();
        Assert.Equal(1, cluster.CountOf("a", Resigns));
    }

    /// <summary>Each volume holds much and has little room, from the start: what is kept back follows from both.</summary>
    [Fact]
    public async Task GivenThreeVolumesThatAreEquallyFull_WhenNoMessagesAreTaken_ThenTheLeadIsNotPassedAround()
    {
        await using TestCluster cluster = await TestCluster.CreateAsync(etcd);
        foreach (TestNode node in cluster.Nodes)
        {
            node.IsSmall = true;
            node.Disk = new FullVolume();
            await node.StartAsync();
        }

        await cluster.SeatsAsync(3);
        await Eventually.TrueAsync(() => cluster.Leader is { Broker.IsReadOnly: true });
        await Eventually.PassedAsync(TimeSpan.FromSeconds(6));
        Assert.Equal(1, (await cluster.Shard.ReadAsync(TestContext.Current.CancellationToken))!.Shard.State!.Epoch);
        Assert.DoesNotContain(cluster.Log, one => one.Line.Id == Resigns);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    public async Task GivenANodeWhoseDiskFails_WhenMessagesAreSent_ThenItEndsWithThat_AndTheOthersGoOn(int node)
    {
        var disk = new SimulatedDisk();
        await using TestCluster cluster = await StartAsync(disk, node);
        await using var load = new Load(cluster);
        await load.StoredAsync(50);

        disk.OnChange = Fail(DiskFault.Io);
        Exception ended = await Assert.ThrowsAnyAsync<Exception>(() => cluster.Nodes[node].Node!.Completion);
        Assert.Equal(DiskFault.Io, Assert.IsType<DiskException>(ended.InnerException ?? ended).Fault);
        await cluster.SeatsAsync(2);
        await load.MoreAsync(50);
        await load.CheckAsync();
    }

    /// <summary>One node keeps its files on a disk of the test's; a leads.</summary>
    private async Task<TestCluster> StartAsync(SimulatedDisk disk, int node = 2)
    {
        TestCluster cluster = await TestCluster.CreateAsync(etcd);
        // A disk in memory copies a file with each sync.
        foreach (TestNode one in cluster.Nodes)
            one.IsSmall = true;
        cluster.Nodes[node].Disk = disk;
        await cluster.Nodes[0].StartAsync();
        await cluster.SeatsAsync(1);
        await cluster.Nodes[1].StartAsync();
        await cluster.Nodes[2].StartAsync();
        await cluster.SeatsAsync(3);
        Assert.True(cluster.Nodes[0].IsServing);
        return cluster;
    }

    /// <summary>This system's files, on a volume of 20 GB that the shard's log seems to have filled but for 40 MB.</summary>
    private sealed class FullVolume() : ForwardingDisk(PortableDisk.ForThisSystem())
    {
        private const long Free = 40 << 20;
        private const long Stored = 20L << 30;

        public override long CapacityBytes(string path) => Stored + Free;

        public override long FreeBytes(string path) => Free;

        public override IReadOnlyList<DiskEntry> List(string directory) =>
            directory.EndsWith(Path.Combine("shards", "0", "logs", "0"), StringComparison.Ordinal)
                ? [.. base.List(directory), new DiskEntry("other", Stored)]
                : base.List(directory);
    }

    /// <summary>Refuses to write the log; the replica's note has its room already.</summary>
    private static Action<DiskOperationKind, string> Fail(DiskFault fault) => (kind, path) =>
    {
        if (kind is DiskOperationKind.Write or DiskOperationKind.SetLength && !path.EndsWith("replica", StringComparison.Ordinal))
            throw new DiskException(fault, path, "write", "as the test wants");
    };
}
