using System.Globalization;
using EQueue.Protocol;

namespace EQueue.Broker.Tests;

/// <summary>Instances of a broadcast group that have progress: how many may.</summary>
public sealed class InstanceLimitTests
{
    private const int MostInstances = 1_000;

    [Fact]
    public async Task GivenAsManyInstancesAsMayHaveProgress_WhenOneMoreComes_ThenItIsRefusedAndTheOthersGoFurther()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer peer = await broker.ConnectAsync();
        await peer.CreateTopicAsync("orders", 1);
        for (int i = 0; i < MostInstances; i++)
            await ResetAsync(peer, "everywhere", i);
        EQueueException refused =
            await Assert.ThrowsAsync<EQueueException>(() => ResetAsync(peer, "everywhere", MostInstances));
        Assert.Equal(ErrorCode.LimitReached, refused.Code);
        Assert.Contains("'everywhere' has progress of 1000 instances", refused.Message, StringComparison.Ordinal);
        await ResetAsync(peer, "everywhere", 7);
        await ResetAsync(peer, "elsewhere", MostInstances);
    }

    private static async Task ResetAsync(TestPeer peer, string group, int instance)
    {
        ResetOffsetsResponse answer = await peer.InvokeAsync(new ResetOffsetsRequest
        {
            Group = group,
            InstanceId = instance.ToString(CultureInfo.InvariantCulture),
            Topic = "orders",
            To = ResetTarget.End,
        });
        Assert.Equal(ErrorCode.None, Assert.Single(answer.Queues).Error);
    }
}
