using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Groups;

/// <summary>What groups keep over a restart: progress, and in the settle window their queues.</summary>
public sealed class GroupRestartTests
{
    private readonly GroupCalls _one = new();
    private readonly GroupCalls _two = new();

    [Fact]
    public async Task GivenMembers_WhenTheBrokerStartsAgain_ThenTheyClaimWhatTheyHadUnderNewGrants()
    {
        await using TestBroker first = await TestBroker.StartAsync(Options(TimeSpan.FromMinutes(1)));
        (QueueId[] queues, GroupHeartbeatResponse one, GroupHeartbeatResponse two) = await ShareAsync(first);
        await using TestBroker again = await first.StartFromCopyAsync();
        await using TestPeer peer = await again.ConnectAsync();
        GroupHeartbeatResponse back = await peer.InvokeAsync(Claim(_two, two));
        Assert.Equal(two.Ids(), back.Ids());
        Assert.Equal(1u, back.Pending);
        Assert.True(back.Queues()[0].Grant > two.Queues()[0].Grant);
        Assert.Equal(ErrorCode.UnknownMember, (await peer.RefusalAsync(_one.Commit(one.Queues()[0], 1))).Code);
        Assert.Equal(ErrorCode.GroupBusy, (await peer.RefusalAsync(new CommitOffsetsRequest(
            "billing", Guid.Empty, []))).Code);
        GroupHeartbeatResponse rest = await peer.InvokeAsync(Claim(_one, one));
        Assert.Equal(one.Ids(), rest.Ids());
        Assert.Equal(0u, rest.Pending);
        Assert.Equal(2, queues.Length);
        Assert.Equal([ErrorCode.None], (await peer.InvokeAsync(_one.Commit(rest.Queues()[0], 1))).Errors);
    }

    [Fact]
    [EffectOf("Groups:SettleWindow")]
    public async Task GivenTheWindowIsOver_WhenAMemberClaims_ThenItJoinsAsNew()
    {
        var time = new ManualTime();
        await using TestBroker first = await TestBroker.StartAsync(Options(TimeSpan.FromSeconds(3)));
        (_, GroupHeartbeatResponse one, GroupHeartbeatResponse two) = await ShareAsync(first);
        await using TestBroker again = await first.StartFromCopyAsync(time);
        await using TestPeer peer = await again.ConnectAsync();
        var stranger = new GroupCalls();
        GroupHeartbeatResponse waiting = await peer.InvokeAsync(stranger.Join("orders"));
        Assert.Equal((0, 2u), (waiting.Queues().Length, waiting.Pending));
        time.Advance(TimeSpan.FromSeconds(4));
        GroupHeartbeatResponse given = await peer.InvokeAsync(stranger.Beat(waiting.Generation));
        Assert.Equal(2, given.Queues().Length);
        Assert.Empty((await peer.InvokeAsync(Claim(_two, two))).Queues());
        Assert.Equal(ErrorCode.UnknownMember, (await peer.RefusalAsync(_one.Beat(one.Generation))).Code);
    }

    [Fact]
    public async Task GivenAQueueThatItsSuccessorHasCommitted_WhenTheOldOwnerClaimsIt_ThenItIsNotGiven()
    {
        await using TestBroker first = await TestBroker.StartAsync(Options(TimeSpan.FromMinutes(1)));
        await using TestPeer peer = await first.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
        await peer.ProduceAsync(queue, "a", "b");
        GroupHeartbeatResponse old = await peer.InvokeAsync(_one.Join("orders"));
        await peer.InvokeAsync(_one.Leave());
        GroupHeartbeatResponse next = await peer.InvokeAsync(_two.Join("orders"));
        Assert.Equal([ErrorCode.None], (await peer.InvokeAsync(_two.Commit(next.Queues()[0], 1))).Errors);
        await using TestBroker again = await first.StartFromCopyAsync();
        await using TestPeer other = await again.ConnectAsync();
        Assert.Empty((await other.InvokeAsync(Claim(_one, old))).Queues());
        Assert.Equal(next.Ids(), (await other.InvokeAsync(Claim(_two, next))).Ids());
    }

    [Fact]
    public async Task GivenAGroupWithoutMembers_WhenTheBrokerStartsAgain_ThenThereIsNoWindow()
    {
        await using TestBroker first = await TestBroker.StartAsync(Options(TimeSpan.FromMinutes(1)));
        await using (TestPeer peer = await first.ConnectAsync())
        {
            QueueId queue = (await peer.CreateTopicAsync("orders")).Queues[0].Id;
            await peer.ProduceAsync(queue, "a");
            GroupHeartbeatResponse joined = await peer.InvokeAsync(_one.Join("orders"));
            await peer.InvokeAsync(_one.Commit(joined.Queues()[0], 1));
            await peer.InvokeAsync(_one.Leave());
            await peer.InvokeAsync(_two.Join("orders") with { Group = "without-progress" });
            await peer.InvokeAsync(_two.Leave() with { Group = "without-progress" });
        }

        await using TestBroker again = await first.RestartAsync();
        await using TestPeer other = await again.ConnectAsync();
        Assert.Equal(1, await other.FigureAsync("broker.groups"));
        Assert.Single((await other.InvokeAsync(_two.Join("orders"))).Queues());
    }

    [Fact]
    public void GivenGroupRecords_WhenWritten_ThenTheBytesAreThoseAndOlderOnesAreRead()
    {
        var offset = new GroupOffset(new QueueOffset(9), 2, 10, new GroupGeneration((2L << 32) + 3), "a");
        StateEntry entry = offset.ToEntry(new GroupOffsetKey("g/i", new QueueKey(0, new QueueId(5))));
        Assert.Equal("000005000000672f69", Convert.ToHexStringLower(entry.Key.Span));
        Assert.Equal(
            "01" + "0900000000000000" + "02000000" + "0a00000000000000" + "0300000002000000" + "0100" + "61",
            Convert.ToHexStringLower(entry.Value!.Value.Span));
        Assert.Equal(offset, GroupOffset.Read(entry.AsRecord()));

        byte[] older = Convert.FromHexString("00" + "0900000000000000" + "02000000" + "0a00000000000000" + "010061");
        Assert.Equal(
            offset with { Grant = GroupGeneration.None },
            GroupOffset.Read(new StateEntry(GroupOffset.Kind, entry.Key, older).AsRecord()));

        var group = new GroupRecord("g", true, false, 7);
        Assert.Equal("67", Convert.ToHexStringLower(group.ToEntry().Key.Span));
        Assert.Equal("00010700000000000000", Convert.ToHexStringLower(group.ToEntry().Value!.Value.Span));
        Assert.Equal(group, GroupRecord.Read(group.ToEntry().AsRecord()));
    }

    private static BrokerOptions Options(TimeSpan window) =>
        TestBroker.SmallOptions() with { Groups = new GroupOptions { SettleWindow = window } };

    private static GroupHeartbeatRequest Claim(GroupCalls calls, GroupHeartbeatResponse had) =>
        calls.Join("orders") with { Generation = had.Generation, Owned = had.Queues() };

    /// <summary>Two members with a queue each.</summary>
    private async Task<(QueueId[] Queues, GroupHeartbeatResponse One, GroupHeartbeatResponse Two)> ShareAsync(
        TestBroker broker)
    {
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = [.. (await peer.CreateTopicAsync("orders", 2)).Queues.Select(queue => queue.Id)];
        foreach (QueueId queue in queues)
            await peer.ProduceAsync(queue, "a");
        GroupHeartbeatResponse one = await peer.InvokeAsync(_one.Join("orders"));
        GroupHeartbeatResponse two = await peer.InvokeAsync(_two.Join("orders"));
        one = await peer.InvokeAsync(_one.Beat(one.Generation, one.Queues()));
        await peer.InvokeAsync(_one.Beat(one.Generation, one.Queues()));
        two = await peer.InvokeAsync(_two.Beat(two.Generation, []));
        Assert.Equal((1, 1), (one.Queues().Length, two.Queues().Length));

        // That the group has members is written without anybody waiting for it, before this.
        await peer.ProduceAsync(queues[0], "b");
        return (queues, one, two);
    }
}
