using EQueue.Cluster.Tests.Etcd;
using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>A follower whose disk is full or fails.</summary>
public sealed class DiskTroubleTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    private const int DiskFull = 7030;

    [Fact]
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

        disk.OnChange = null;
        await cluster.SeatsAsync(3);
        await load.CheckAsync();
        Assert.False(cluster.Nodes[2].Node!.Completion.IsCompleted);
    }

    [Fact]
    public async Task GivenAFollowerWhoseDiskFails_WhenMessagesAreSent_ThenItEndsWithThat_AndTheOthersGoOn()
    {
        var disk = new SimulatedDisk();
        await using TestCluster cluster = await StartAsync(disk);
        await using var load = new Load(cluster);
        await load.StoredAsync(50);

        disk.OnChange = Fail(DiskFault.Io);
        var ended = await Assert.ThrowsAsync<DiskException>(() => cluster.Nodes[2].Node!.Completion);
        Assert.Equal(DiskFault.Io, ended.Fault);
        await cluster.SeatsAsync(2);
        await load.MoreAsync(50);
        await load.CheckAsync();
    }

    /// <summary>Node c keeps its files on a disk of the test's.</summary>
    private async Task<TestCluster> StartAsync(SimulatedDisk disk)
    {
        TestCluster cluster = await TestCluster.CreateAsync(etcd);
        // A disk in memory copies a file with each sync.
        foreach (TestNode node in cluster.Nodes) node.IsSmall = true;
        cluster.Nodes[2].Disk = disk;
        await cluster.Nodes[0].StartAsync();
        await cluster.SeatsAsync(1);
        await cluster.Nodes[1].StartAsync();
        await cluster.Nodes[2].StartAsync();
        await cluster.SeatsAsync(3);
        Assert.False(cluster.Nodes[2].IsServing);
        return cluster;
    }

    /// <summary>Refuses to write the log; the replica's note has its room already.</summary>
    private static Action<DiskOperationKind, string> Fail(DiskFault fault) => (kind, path) =>
    {
        if (kind is DiskOperationKind.Write or DiskOperationKind.SetLength && !path.EndsWith("replica", StringComparison.Ordinal))
            throw new DiskException(fault, path, "write", "as the test wants");
    };
}
