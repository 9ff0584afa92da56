using System.Text;
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
        for (int i = 0; i < 100; i++)
            await producer.SendAsync("orders", Encoding.UTF8.GetBytes($"message {i}"));

        await using QueueReader reader = client.CreateReader();
        await reader.AssignAllAsync("orders", StartPosition.Begin);
        List<string> read = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(TestContext.Current.CancellationToken))
        {
            read.Add(Encoding.UTF8.GetString(message.Body.Span));
            if (read.Count == 100)
                break;
        }

        Assert.Equal(100, read.Distinct().Count());
    }

    [Fact]
    public async Task GivenUsersTokensAndRules_WhenAnotherNodeLeads_ThenTheyHoldThereToo_AndProducersKeepTheirIds()
    {
        EtcdProcess.SkipWithoutEtcd();
        await using TestCluster cluster = await TestCluster.StartAsync(etcd);
        await cluster.SeatsAsync(3);
        await using EQueueClient owner = cluster.Connect();
        await owner.Admin.CreateTopicAsync("open");
        await owner.Admin.CreateTopicAsync("closed");
        await owner.Admin.SetUserAsync("alice", groups: ["staff"]);
        string token = (await owner.Admin.CreateTokenAsync("alice")).Token;
        await owner.Admin.AddRuleAsync(new AccessRule(
            RuleEffect.Allow, "group:staff", Permission.All, ResourceKind.Topic, "open"));
        await using var alice = new EQueueClient(new ClientOptions
        {
            Addresses = string.Join(',', cluster.Nodes.Select(node => node.Address)),
            Credentials = Credentials.Token(token),
        });
        await using Producer producer = alice.CreateProducer();
        await producer.SendAsync("open", "first"u8.ToArray());

        TestNode before = cluster.Leader!;
        await before.KillAsync();

        await producer.SendAsync("open", "second"u8.ToArray());
        EQueueException refused = await Assert.ThrowsAsync<EQueueException>(
            async () => await producer.SendAsync("closed", "third"u8.ToArray()));
        Assert.Equal(ErrorCode.NotAuthorized, refused.Code);
        Assert.NotEqual(before.Name, cluster.Leader!.Name);
        Assert.Equal(["alice"], await owner.Admin.ListUsersAsync().Select(static user => user.Name).ToArrayAsync());
        Assert.Single(await owner.Admin.ListRulesAsync().ToArrayAsync());
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

        // Its seat is given up, and no node is blamed.
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
