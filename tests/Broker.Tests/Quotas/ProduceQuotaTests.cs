using System.Diagnostics;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker.Tests.Quotas;

public sealed class ProduceQuotaTests : QuotaTest
{
    [Fact]
    public async Task GivenAClientQuota_WhenTooMuchIsSent_ThenItIsStoredAtOnceAndAnsweredLater()
    {
        await SetAsync(QuotaKind.Client, "slow", produce: 10_000);
        TestPeer slow = await ConnectAsync("slow");
        Task<ResponseFrame> sending = SendAsync(slow, Queue, 60_000);
        await SlowedAsync(1);
        Assert.Single((await Admin.FetchAsync(Messages.Open(Long, Messages.From(Queue, 0)))).Bodies);
        Assert.False(sending.IsCompleted);
        Time.Advance(TimeSpan.FromSeconds(6));
        using ResponseFrame answer = await sending;
        Assert.True(answer.Header.Flags.HasFlag(FrameFlags.Throttled));
        Assert.True(ProduceResponse.TryReadHeader(answer.Payload.Span, out int throttledMs, out _));
        Assert.InRange(throttledMs, 4_000, 5_100);
        Assert.InRange(await Admin.FigureAsync("broker.throttledMilliseconds"), 4_000, 5_100);
    }

    [Fact]
    public async Task GivenAQuotaOfEveryClient_WhenOneIsInDebt_ThenAnotherIsNotAndOneWithItsOwnNeither()
    {
        await SetAsync(QuotaKind.Client, "*", produce: 40_000);
        await SetAsync(QuotaKind.Client, "fast", produce: 1_000_000);
        TestPeer one = await ConnectAsync("one");
        Task<ResponseFrame> sending = SendAsync(one, Queue, 300_000);
        await SlowedAsync(1);
        (await SendAsync(await ConnectAsync("two"), Queue, 30_000)).Dispose();
        (await SendAsync(await ConnectAsync("fast"), Queue, 300_000)).Dispose();
        Assert.False(sending.IsCompleted);
        Assert.Equal(1, await Admin.FigureAsync("broker.throttledRequests"));
        await SetAsync(QuotaKind.Client, "*");
        (await SendAsync(one, Queue, 300_000)).Dispose();
        Time.Advance(TimeSpan.FromSeconds(10));
        (await sending).Dispose();
    }

    [Fact]
    public async Task GivenATopicQuota_WhenTwoClientsSend_ThenTheyShareItAndOtherTopicsAreFree()
    {
        await SetAsync(QuotaKind.Topic, "orders", produce: 40_000);
        TestPeer one = await ConnectAsync("one"), two = await ConnectAsync("two");
        QueueId other = await CreateAsync("other");
        (await SendAsync(one, Queue, 30_000)).Dispose();
        Task<ResponseFrame> sending = SendAsync(two, Queue, 200_000);
        await SlowedAsync(1);
        (await SendAsync(two, other, 200_000)).Dispose();
        Assert.False(sending.IsCompleted);
        Time.Advance(TimeSpan.FromSeconds(6));
        (await sending).Dispose();
    }

    [Fact]
    public async Task GivenADebtBeyondTheLongestHold_WhenMoreIsSent_ThenTheConnectionIsNotRead()
    {
        await SetAsync(QuotaKind.Client, "slow", produce: 1_000);
        TestPeer slow = await ConnectAsync("slow");
        Task<ResponseFrame> sending = SendAsync(slow, Queue, 12_500);
        await SlowedAsync(2);
        var clock = Stopwatch.StartNew();
        await slow.FigureAsync("broker.connections");
        Assert.InRange(clock.Elapsed.TotalSeconds, 1, 10);
        Time.Advance(TimeSpan.FromSeconds(11));
        (await sending).Dispose();
    }

    [Fact]
    public async Task GivenAOnewaySender_WhenItIsTooFast_ThenItsConnectionIsNotRead()
    {
        await SetAsync(QuotaKind.Client, "slow", produce: 100_000);
        TestPeer slow = await ConnectAsync("slow");
        var clock = Stopwatch.StartNew();
        for (int i = 0; i < 20; i++)
        {
            await slow.SendOnewayAsync(
                Opcode.Produce, Messages.Produce(Durability.Policy, (Queue, Messages.Batch(Text(10_000)))));
        }

        await slow.FigureAsync("broker.connections");
        Assert.InRange(clock.Elapsed.TotalSeconds, 0.95, 10);
        Assert.Equal(20, await Admin.FigureAsync("store.appendedMessages"));
    }

    [Fact]
    public async Task GivenARequestQuota_WhenMoreIsAsked_ThenItComesAtThatRate()
    {
        await SetAsync(QuotaKind.Client, "slow", requests: 10);
        TestPeer slow = await ConnectAsync("slow");
        var clock = Stopwatch.StartNew();
        await Task.WhenAll(Enumerable.Range(0, 20).Select(_ => slow.FigureAsync("broker.connections")));
        Assert.InRange(clock.Elapsed.TotalSeconds, 0.85, 10);
    }

    [Fact]
    public async Task GivenHeldAnswers_WhenTheBrokerStops_ThenTheyLeaveAtOnce()
    {
        await SetAsync(QuotaKind.Client, "slow", produce: 10_000);
        TestPeer slow = await ConnectAsync("slow");
        Task<ResponseFrame> sending = SendAsync(slow, Queue, 100_000);
        await SlowedAsync(1);
        var clock = Stopwatch.StartNew();
        await Broker.Broker.StopAsync(CancellationToken.None);
        using ResponseFrame answer = await sending;
        Assert.Equal(ErrorCode.None, Assert.Single(Messages.ReadProduced(answer)).Error);
        Assert.InRange(clock.Elapsed.TotalSeconds, 0, 4.9);
    }

    [Fact]
    public async Task GivenAHeldAnswer_WhenTheConnectionEnds_ThenTheMessageStaysAndOthersGoOn()
    {
        await SetAsync(QuotaKind.Client, "slow", produce: 10_000);
        TestPeer slow = await ConnectAsync("slow");
        Task<ResponseFrame> sending = SendAsync(slow, Queue, 60_000);
        await SlowedAsync(1);
        await slow.DisposeAsync();
        await Assert.ThrowsAnyAsync<Exception>(() => sending);
        Time.Advance(TimeSpan.FromSeconds(6));
        Assert.Single((await Admin.FetchAsync(Messages.Open(0, Messages.From(Queue, 0)))).Bodies);
        (await SendAsync(await ConnectAsync("slow"), Queue, 5_000)).Dispose();
    }

    private static Task<ResponseFrame> SendAsync(TestPeer peer, QueueId queue, int bytes) => peer.SendAsync(
        Opcode.Produce, Messages.Produce(Durability.Policy, (queue, Messages.Batch(Text(bytes))))).AsTask();
}
