using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Backlogs;

/// <summary>What makes room in a full topic, and whose progress counts.</summary>
public sealed class RoomTests : BacklogTest
{
    [Fact]
    public async Task GivenALine_WhenACommitComesOneway_ThenRoomIsGivenAllTheSame()
    {
        QueueId queue = (await CreateAsync(Bound(2)))[0];
        await FillAsync(queue, 2);
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult> send = sender.ProduceAsync(queue, "a");
        await ParkedAsync(1);
        await Peer.SendOnewayAsync(Opcode.CommitOffsets, TestPeer.Encode(Commit(queue, 1)));
        Assert.Equal(2, (await send).FirstOffset.Value);
    }

    [Fact]
    public async Task GivenALine_WhenTheSlowestGroupIsResetForwardOrDeleted_ThenRoomIsGiven()
    {
        QueueId queue = (await CreateAsync(Bound(2)))[0];
        await FillAsync(queue, 2);
        await CommitAsync(queue, 0, "slow");
        await CommitAsync(queue, 2, "quick");
        Assert.Equal(2, await BacklogAsync());
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult> send = sender.ProduceAsync(queue, "a");
        await ParkedAsync(1);
        await Peer.InvokeAsync(new ResetOffsetsRequest
        {
            Group = "slow",
            Topic = "orders",
            To = ResetTarget.Offset,
            Value = 1,
        });
        Assert.Equal(2, (await send).FirstOffset.Value);
        send = sender.ProduceAsync(queue, "b");
        await ParkedAsync(1);
        await Peer.InvokeAsync(new DeleteGroupRequest("slow", null));
        Assert.Equal(3, (await send).FirstOffset.Value);
        Assert.Equal(2, await BacklogAsync());
    }

    [Fact]
    public async Task GivenAGroupThatGoesBack_WhenItIsAboveTheBound_ThenSendersWaitUntilItIsBelow()
    {
        QueueId queue = (await CreateAsync(Bound(3)))[0];
        await FillAsync(queue, 3);
        await CommitAsync(queue, 3);
        await FillAsync(queue, 3);
        await Peer.InvokeAsync(new ResetOffsetsRequest { Group = "billing", Topic = "orders", To = ResetTarget.Begin });
        Assert.Equal(6, await BacklogAsync());
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult> send = sender.ProduceAsync(queue, "a");
        await ParkedAsync(1);
        await CommitAsync(queue, 3);
        await ParkedAsync(1);
        await CommitAsync(queue, 4);
        Assert.Equal(6, (await send).FirstOffset.Value);
    }

    [Fact]
    public async Task GivenALine_WhenTheTopicIsAltered_ThenThoseWhoWaitAreJudgedByWhatHoldsNow()
    {
        QueueId queue = (await CreateAsync(Bound(2)))[0];
        await FillAsync(queue, 2);
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult> send = sender.ProduceAsync(queue, "a");
        await ParkedAsync(1);
        await AlterAsync(new TopicSettings { MaxBacklogMessages = 3 });
        Assert.Equal(2, (await send).FirstOffset.Value);

        send = sender.ProduceAsync(queue, "b");
        await ParkedAsync(1);
        await AlterAsync(new TopicSettings { BacklogPolicy = BacklogPolicy.Reject });
        Assert.Equal(ErrorCode.QueueFull, (await send).Error);

        await AlterAsync(new TopicSettings { BacklogPolicy = BacklogPolicy.Block });
        send = sender.ProduceAsync(queue, "c", "d");
        await ParkedAsync(1);
        await AlterAsync(new TopicSettings { MaxBacklogMessages = 1 });
        Assert.Equal(ErrorCode.BatchExceedsBacklog, (await send).Error);

        send = sender.ProduceAsync(queue, "e");
        await ParkedAsync(1);
        await AlterAsync(new TopicSettings { MaxBacklogMessages = 0 });
        Assert.Equal(3, (await send).FirstOffset.Value);
        await FillAsync(queue, 5);

        await AlterAsync(new TopicSettings { MaxBacklogMessages = 9 });
        Assert.Equal(9, await BacklogAsync());
        send = sender.ProduceAsync(queue, "f");
        await ParkedAsync(1);
        await AlterAsync(new TopicSettings { BacklogPolicy = BacklogPolicy.DropOldest });
        Assert.Equal(9, (await send).FirstOffset.Value);
    }

    [Fact]
    public async Task GivenALine_WhenQueuesAreAdded_ThenTheBoundHoldsOverAllOfThem()
    {
        QueueId queue = (await CreateAsync(Bound(2)))[0];
        await FillAsync(queue, 2);
        await AlterAsync(new TopicSettings { QueueCount = 2 });
        QueueId added = (await Peer.InvokeAsync(new DescribeTopicRequest("orders"))).Queues[1].Id;
        await using TestPeer sender = await Broker.ConnectAsync();
        Task<ProduceResult> send = sender.ProduceAsync(added, "a");
        await ParkedAsync(1);
        await CommitAsync(queue, 1);
        Assert.Equal(0, (await send).FirstOffset.Value);
    }

    [Fact]
    public async Task GivenABatchThatTheStoreHasNotTakenYet_WhenTheTopicIsAltered_ThenItsRoomStaysTaken()
    {
        const int Most = 60;
        QueueId queue = (await CreateAsync(Bound(Most)))[0];
        Disk.HoldWrites();
        byte[] batch = Messages.Batch(ProducerSession.None, -1, new byte[1 << 20]);
        var peers = new List<TestPeer>();
        var sends = new List<Task<ProduceResult[]>>();
        for (int i = 0; i < 40; i++)
        {
            peers.Add(await Broker.ConnectAsync());
            sends.Add(SendAsync(peers[i], 0, (queue, batch)));
        }

        await Eventually.TrueAsync(
            async () => await Peer.FigureAsync("broker.produceRequests") == 40
                && await Peer.FigureAsync("broker.parkedProduces") > 0,
            "the store should have no room for all of them");
        Assert.Equal(40, await BacklogAsync());
        Task alter = AlterAsync(new TopicSettings { MaxMessageBytes = 2 << 20 });
        Disk.ReleaseWrites();
        await alter;
        Assert.InRange(await BacklogAsync(), 40, 80);
        await Task.WhenAll(sends);
        Assert.Equal((40L, 40L), (await BacklogAsync(), await EndAsync(queue)));
        foreach (TestPeer peer in peers)
            await peer.DisposeAsync();
    }

    [Fact]
    public async Task GivenNamedGroups_WhenOthersCommit_ThenOnlyTheNamedOnesMakeRoomAndAllOfThemMust()
    {
        QueueId queue = (await CreateAsync(Bound(2) with { BacklogGroups = "a,b" }))[0];
        await FillAsync(queue, 2);
        await CommitAsync(queue, 2, "other");
        await CommitAsync(queue, 2, "a");
        Assert.Equal(2, await BacklogAsync());
        await CommitAsync(queue, 1, "b");
        Assert.Equal(1, await BacklogAsync());
        await AlterAsync(new TopicSettings { BacklogGroups = "a" });
        Assert.Equal(0, await BacklogAsync());
        await AlterAsync(new TopicSettings { BacklogGroups = "" });
        Assert.Equal(1, await BacklogAsync());
    }

    [Fact]
    public async Task GivenABroadcastGroup_WhenItsInstancesCommit_ThenTheyCountOnlyByName()
    {
        QueueId queue = (await CreateAsync(Bound(5)))[0];
        await FillAsync(queue, 4);
        foreach ((string instance, long next) in new[] { ("one", 3L), ("two", 1L) })
        {
            await Peer.InvokeAsync(new ResetOffsetsRequest
            {
                Group = "news",
                InstanceId = instance,
                Topic = "orders",
                To = ResetTarget.Offset,
                Value = next,
            });
        }

        Assert.Equal(4, await BacklogAsync());
        await AlterAsync(new TopicSettings { BacklogGroups = "news" });
        Assert.Equal(3, await BacklogAsync());
        await CommitAsync(queue, 4, "billing");
        Assert.Equal(3, await BacklogAsync());
    }

    [Fact]
    public async Task GivenNoBound_WhenFiguresAreAsked_ThenThereAreNoneOfTheTopicAndAfterABoundThereAre()
    {
        QueueId queue = (await CreateAsync(TopicSettings.None))[0];
        await FillAsync(queue, 3);
        Assert.Null((await Peer.InvokeAsync(new StatsRequest())).Find("backlog.messages{orders}"));
        await AlterAsync(new TopicSettings { MaxBacklogMessages = 5 });
        Assert.Equal(3, await BacklogAsync());
        await AlterAsync(new TopicSettings { MaxBacklogMessages = 0 });
        Assert.Null((await Peer.InvokeAsync(new StatsRequest())).Find("backlog.messages{orders}"));
    }
}
