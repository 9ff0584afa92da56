using EQueue.Protocol;

namespace EQueue.Broker.Tests.Backlogs;

/// <summary>Who holds a topic at its bound: groups that have members, not a stranger that commits once.</summary>
public sealed class StrangerTests : BacklogTest
{
    [Fact]
    public async Task GivenAGroupThatReads_WhenAStrangerCommitsOnce_ThenSendersDoNotWaitForIt()
    {
        QueueId queue = (await CreateAsync(Bound(4)))[0];
        (Guid member, GroupGeneration grant) = await JoinAsync(queue);
        await FillAsync(queue, 4);
        await CommitAsync(queue, 0, "stranger");
        Assert.Equal(4, await BacklogAsync());
        await CommitAsync(member, grant, queue, 4);
        Assert.Equal(0, await BacklogAsync());
        await FillAsync(queue, 4);

        // The same after a restart, from what the log holds.
        await CommitAsync(member, grant, queue, 8);
        await Peer.DisposeAsync();
        Broker = await Broker.RestartAsync();
        Peer = await Broker.ConnectAsync("admin");
        Assert.Equal(0, await BacklogAsync());
        await FillAsync(queue, 4);
        Assert.Equal(4, await BacklogAsync());
    }

    [Fact]
    public async Task GivenGroupsWithoutMembersAlone_WhenTheyCommit_ThenTheSlowestOfThemCounts()
    {
        QueueId queue = (await CreateAsync(Bound(4)))[0];
        await FillAsync(queue, 4);
        await CommitAsync(queue, 4);
        await CommitAsync(queue, 1, "other");
        Assert.Equal(3, await BacklogAsync());

        // The first that has a member counts alone; it has come as far as before.
        await JoinAsync(queue);
        Assert.Equal(0, await BacklogAsync());
    }

    [Fact]
    public async Task GivenAStrangerThatIsNamed_WhenItCommits_ThenItCounts()
    {
        QueueId queue = (await CreateAsync(Bound(4) with { BacklogGroups = "billing,stranger" }))[0];
        (Guid member, GroupGeneration grant) = await JoinAsync(queue);
        await FillAsync(queue, 4);
        await CommitAsync(member, grant, queue, 4);
        await CommitAsync(queue, 1, "stranger");
        Assert.Equal(3, await BacklogAsync());
    }

    /// <summary>A member of "billing" that has the queue.</summary>
    private async Task<(Guid Member, GroupGeneration Grant)> JoinAsync(QueueId queue)
    {
        var member = Guid.NewGuid();
        GroupHeartbeatResponse joined = await Peer.InvokeAsync(new GroupHeartbeatRequest
        {
            Group = "billing",
            Member = member,
            Sequence = 1,
            Subscriptions = [new TopicSubscription("orders", [])],
        });
        AssignedQueue given = Assert.Single(Assert.Single(joined.Assignment!).Queues);
        Assert.Equal(queue, given.Queue.Id);
        return (member, given.Grant);
    }

    private async Task CommitAsync(Guid member, GroupGeneration grant, QueueId queue, long next)
    {
        var commit = new OffsetCommit(new QueueKey(0, queue), grant, new QueueOffset(next), -1, null);
        CommitOffsetsResponse answer = await Peer.InvokeAsync(new CommitOffsetsRequest("billing", member, [commit]));
        Assert.Equal([ErrorCode.None], answer.Errors);
    }
}
