using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Broker.Tests.Memory;

/// <summary>What anybody may leave behind with commits: bounded in all and of each group, over restarts.</summary>
public sealed class ProgressMemoryTests
{
    private static readonly string Text = new('x', CommittedOffset.MaxMetadataBytes);

    [Fact]
    [EffectOf("Limits:ProgressBytes")]
    public async Task GivenCommitsWithoutAMember_WhenTheyTakeWhatThereIs_ThenLimitReachedNamesTheSettingAlsoAfterARestart()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { ProgressBytes = 1 << 20 } });
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = await CreateAsync(peer);
        await peer.InvokeAsync(Commit("billing", queues, "mine"));

        int groups = 0;
        EQueueException? refusal = null;
        while (refusal is null && groups < 200)
        {
            CommitOffsetsRequest commit = Commit($"stranger{groups}", queues, Text);
            if (await Record.ExceptionAsync(() => peer.InvokeAsync(commit)) is EQueueException refused)
                refusal = refused;
            else
                groups++;
        }

        Assert.Equal(ErrorCode.LimitReached, refusal?.Code);
        Assert.Contains("(Limits:ProgressBytes)", refusal!.Message, StringComparison.Ordinal);
        Assert.InRange(groups, 3, 10);
        Assert.InRange(await UsedAsync(peer), 900_000, 1 << 20);
        Assert.Equal(groups + 1, await peer.FigureAsync("broker.groups"));

        await using TestBroker again = await broker.RestartAsync();
        await using TestPeer later = await again.ConnectAsync();
        Assert.InRange(await UsedAsync(later), 900_000, 1 << 20);
        Assert.Equal(
            ErrorCode.LimitReached, (await later.RefusalAsync(Commit("stranger", queues, Text))).Code);

        // Earlier members continue, and what is deleted is room again.
        Assert.All(
            (await later.InvokeAsync(Commit("billing", queues, "mine"))).Errors,
            error => Assert.Equal(ErrorCode.None, error));
        for (int i = 0; i < groups; i++)
            await later.InvokeAsync(new DeleteGroupRequest($"stranger{i}", null));
        await later.InvokeAsync(Commit("stranger", queues, Text));
    }

    [Fact]
    [EffectOf("Limits:MaxProgressBytesPerGroup")]
    public async Task GivenOneGroup_WhenItsProgressTakesWhatAGroupMay_ThenLimitReachedNamesTheSettingAndOthersGoOn()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { MaxProgressBytesPerGroup = 64 << 10 } });
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = await CreateAsync(peer);
        EQueueException refusal = await peer.RefusalAsync(Commit("billing", queues, Text));
        Assert.Equal(ErrorCode.LimitReached, refusal.Code);
        Assert.Contains("(Limits:MaxProgressBytesPerGroup)", refusal.Message, StringComparison.Ordinal);
        Assert.Equal(0, await peer.FigureAsync("broker.groups"));
        await peer.InvokeAsync(Commit("billing", queues[..3], Text));
        Assert.Equal(
            ErrorCode.LimitReached, (await peer.RefusalAsync(Commit("billing", queues[3..], Text))).Code);
        await peer.InvokeAsync(Commit("billing", queues[..3], "less"));
        await peer.InvokeAsync(Commit("billing", queues[3..6], Text));
        await peer.InvokeAsync(Commit("shipping", queues[..3], Text));
    }

    [Fact]
    public async Task GivenNoRoomForProgress_WhenAGroupIsReset_ThenLimitReachedAndTheGroupIsNotMade()
    {
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(
            options with { Limits = options.Limits with { MaxProgressBytesPerGroup = 64 << 10 } });
        await using TestPeer peer = await broker.ConnectAsync();
        await peer.CreateTopicAsync("orders", 1_000);
        EQueueException refusal = await peer.RefusalAsync(new ResetOffsetsRequest { Group = "billing", Topic = "orders" });
        Assert.Equal(ErrorCode.LimitReached, refusal.Code);
        Assert.Equal(0, await peer.FigureAsync("broker.groups"));
        Assert.Equal(0, await UsedAsync(peer));
    }

    [Fact]
    public async Task GivenProgress_WhenItChangesAndGoes_ThenItsMemoryIsCountedExactly()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId[] queues = await CreateAsync(peer);
        await peer.InvokeAsync(Commit("billing", queues, "abc"));
        long small = await UsedAsync(peer);
        await peer.InvokeAsync(Commit("billing", queues, Text));
        Assert.True(await UsedAsync(peer) > small + (queues.Length * 2 * Text.Length));
        await peer.InvokeAsync(Commit("billing", queues, "abc"));
        Assert.Equal(small, await UsedAsync(peer));
        await using TestBroker again = await broker.RestartAsync();
        await using TestPeer later = await again.ConnectAsync();
        Assert.Equal(small, await UsedAsync(later));
        await later.InvokeAsync(new DeleteGroupRequest("billing", null));
        await Eventually.TrueAsync(async () => await UsedAsync(later) == 0);
    }

    private static Task<long> UsedAsync(TestPeer peer) => peer.FigureAsync("memory.usedBytes{progress}");

    private static async Task<QueueId[]> CreateAsync(TestPeer peer) =>
        [.. (await peer.CreateTopicAsync("orders", 10)).Queues.Select(queue => queue.Id)];

    private static CommitOffsetsRequest Commit(string group, QueueId[] queues, string metadata) => new(
        group,
        Guid.Empty,
        [.. queues.Select(queue => new OffsetCommit(
            new QueueKey(0, queue), GroupGeneration.None, new QueueOffset(0), -1, metadata))]);
}
