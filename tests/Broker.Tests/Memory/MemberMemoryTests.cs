using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Memory;

/// <summary>Members of groups take memory with what they subscribe to and with the queues that their groups read.</summary>
public sealed class MemberMemoryTests
{
    [Fact]
    [EffectOf("Limits:MaxSubscriptionBytes")]
    public async Task GivenAThousandTopicsWithSixtyFourTags_WhenOneMemberAsksForThem_ThenLimitReachedNamesTheSetting()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer peer = await broker.ConnectAsync();
        string[] tags = [.. Enumerable.Range(0, 64).Select(i => i.ToString("D100"))];
        EQueueException refusal = await peer.RefusalAsync(
            Join("billing", null, [.. Enumerable.Range(0, 1_000).Select(i => new TopicSubscription($"t{i}", tags))]));
        Assert.Equal(ErrorCode.LimitReached, refusal.Code);
        Assert.Contains("(Limits:MaxSubscriptionBytes)", refusal.Message, StringComparison.Ordinal);
        Assert.Equal((0L, 0L), (await peer.FigureAsync("broker.groups"), await UsedAsync(peer)));
    }

    [Fact]
    [EffectOf("Limits:MemberBytes")]
    public async Task GivenStaticMembersWithoutAConnection_WhenTheyTakeWhatThereIs_ThenLimitReachedAndItIsBackWhenTheyEnd()
    {
        var time = new ManualTime();
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { MemberBytes = 4 << 20 } }, time);
        await using TestPeer peer = await broker.ConnectAsync();
        string[] tags = [.. Enumerable.Range(0, 32).Select(i => i.ToString("D100"))];
        TopicSubscription[] wanted = [.. Enumerable.Range(0, 60).Select(i => new TopicSubscription($"t{i}", tags))];
        int members = 0;
        EQueueException? refusal = null;
        while (refusal is null && members < 100)
        {
            await using TestPeer away = await broker.ConnectAsync("away");
            GroupHeartbeatRequest join = Join($"g{members}", $"i{members}", wanted);
            if (await Record.ExceptionAsync(() => away.InvokeAsync(join)) is EQueueException refused)
                refusal = refused;
            else
                members++;
        }

        Assert.Equal(ErrorCode.LimitReached, refusal?.Code);
        Assert.Contains("(Limits:MemberBytes)", refusal!.Message, StringComparison.Ordinal);
        Assert.InRange(members, 3, 20);
        Assert.InRange(await UsedAsync(peer), 1 << 20, 4 << 20);
        time.Advance(TimeSpan.FromMinutes(31));
        await Eventually.TrueAsync(async () => await UsedAsync(peer) == 0);
    }

    [Fact]
    public async Task GivenMembersOfOneGroup_WhenTheyReadTheSame_ThenTheyShareItsNames()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer peer = await broker.ConnectAsync();
        string[] tags = [.. Enumerable.Range(0, 32).Select(i => i.ToString("D100"))];
        TopicSubscription[] wanted = [.. Enumerable.Range(0, 60).Select(i => new TopicSubscription($"t{i}", tags))];
        await peer.InvokeAsync(Join("billing", null, wanted));
        long first = await UsedAsync(peer);
        await peer.InvokeAsync(Join("billing", null, wanted));
        Assert.InRange(await UsedAsync(peer) - first, 1, first / 20);
    }

    [Fact]
    public async Task GivenGroupsThatReadATopic_WhenItGetsMoreQueuesThanTheyHaveMemoryFor_ThenItIsRefused()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { MemberBytes = 1 << 20 } });
        await using TestPeer peer = await broker.ConnectAsync();
        await peer.CreateTopicAsync("orders");
        for (int i = 0; i < 3; i++)
            await peer.InvokeAsync(Join($"g{i}", null, [new TopicSubscription("orders", []), new("later", [])]));
        var many = new TopicSettings { QueueCount = 5_000 };
        Assert.Equal(ErrorCode.LimitReached, (await peer.RefusalAsync(new AlterTopicRequest("orders", many))).Code);
        Assert.Equal(ErrorCode.LimitReached, (await peer.RefusalAsync(new CreateTopicRequest("later", many))).Code);
        await peer.InvokeAsync(new AlterTopicRequest("orders", new TopicSettings { QueueCount = 100 }));
        await peer.CreateTopicAsync("other", 5_000);
        Assert.Equal(
            ErrorCode.LimitReached,
            (await peer.RefusalAsync(Join("g9", null, [new TopicSubscription("other", [])]))).Code);
        Assert.InRange(await UsedAsync(peer), 60_000, 1 << 20);
    }

    private static Task<long> UsedAsync(TestPeer peer) => peer.FigureAsync("memory.usedBytes{members}");

    private static GroupHeartbeatRequest Join(string group, string? instance, TopicSubscription[] wanted) => new()
    {
        Group = group,
        Member = Guid.NewGuid(),
        Sequence = 1,
        InstanceId = instance,
        SessionTimeout = TimeSpan.FromMinutes(30),
        Subscriptions = wanted,
    };
}
