using System.Text;
using EQueue.Client;
using EQueue.Cluster.Tests.Etcd;
using EQueue.MessageStore;

namespace EQueue.Cluster.Tests;

/// <summary>Nodes with real logs, a real broker and a real etcd.</summary>
public sealed class NodeTests(EtcdServer etcd) : IClassFixture<EtcdServer>
{
    [Theory]
    [InlineData(FlushPolicy.Sync)]
    [InlineData(FlushPolicy.Async)]
    public async Task GivenThreeEmptyNodes_WhenTheyStart_ThenOneLeadsThreeHaveSeatsAndMessagesAreStored(FlushPolicy policy)
    {
        EtcdProcess.SkipWithoutEtcd();
        await using TestCluster cluster = await TestCluster.StartAsync(etcd, policy);
        await cluster.SeatsAsync(3);

        await using EQueueClient client = cluster.Connect(cluster.Leader!);
        await using Producer producer = client.CreateProducer();
        for (int i = 0; i < 100; i++) await producer.SendAsync("orders", Encoding.UTF8.GetBytes($"message {i}"));

        await using QueueReader reader = client.CreateReader();
        await reader.AssignAllAsync("orders", StartPosition.Begin);
        List<string> read = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(TestContext.Current.CancellationToken))
        {
            read.Add(Encoding.UTF8.GetString(message.Body.Span));
            if (read.Count == 100) break;
        }

        Assert.Equal(100, read.Distinct().Count());
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenANodeThatStops_WhenMessagesAreSentOn_ThenTheOthersServeAndNothingIsLostDoubledOrReordered(
        bool isLeader)
    {
        const int LetOut = 7042;
        EtcdProcess.SkipWithoutEtcd();
        await using TestCluster cluster = await TestCluster.StartAsync(etcd);
        await cluster.SeatsAsync(3);
        await using var load = new Load(cluster);
        await load.StoredAsync(100);
        for (int round = 0; round < 3; round++)
        {
            TestNode node = cluster.Nodes.First(one => one.IsServing == isLeader);
            await node.StopAsync();
            await cluster.SeatsAsync(2);
            await load.MoreAsync(100);
            await node.StartAsync();
            await cluster.SeatsAsync(3);
            await load.MoreAsync(100);
        }

        await load.CheckAsync();

        // Its seat is given up, and nobody is blamed.
        Assert.DoesNotContain(cluster.Log, one => one.Line.Id == LetOut);
    }

    [Fact]
    public async Task GivenAClientThatKnowsTheLeaderAlone_WhenItStops_ThenTheClientHasLearnedOfTheOthers()
    {
        EtcdProcess.SkipWithoutEtcd();
        await using TestCluster cluster = await TestCluster.StartAsync(etcd);
        await cluster.SeatsAsync(3);
        TestNode leader = cluster.Leader!;
        await using EQueueClient client = cluster.Connect(leader);
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("orders", "one"u8);
        await leader.StopAsync();
        await producer.SendAsync("orders", "two"u8);
        Assert.NotEqual(leader, cluster.Leader);
    }
}
