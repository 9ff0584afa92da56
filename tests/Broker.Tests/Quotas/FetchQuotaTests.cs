namespace EQueue.Broker.Tests.Quotas;

public sealed class FetchQuotaTests : QuotaTest
{
    [Fact]
    public async Task GivenAClientQuota_WhenMoreIsRead_ThenTheNextAnswerComesWhenItIsPaid()
    {
        await SetAsync(QuotaKind.Client, "slow", fetch: 10_000);
        TestPeer slow = await ConnectAsync("slow");
        await Admin.ProduceAsync(Queue, Text(50_000));
        await Admin.ProduceAsync(Queue, "next");
        Fetched first = await slow.FetchAsync(Messages.Open(0, Messages.From(Queue, 0, maxBytes: 1_000)));
        Assert.Single(first.Bodies);
        Task<Fetched> second = slow.FetchAsync(first.Next(Long));
        await SlowedAsync(1);
        Assert.Equal(2, (await Admin.FetchAsync(Messages.Open(0, Messages.From(Queue, 0)))).Bodies.Count());
        Assert.False(second.IsCompleted);
        Time.Advance(TimeSpan.FromSeconds(6));
        Assert.Equal(["next"], (await second).Bodies);
    }

    [Fact]
    public async Task GivenALowRate_WhenMuchIsThere_ThenAnAnswerHoldsNoMoreThanItsShare()
    {
        await SetAsync(QuotaKind.Client, "slow", fetch: 100_000);
        await SetAsync(QuotaKind.Topic, "orders", fetch: 70_000);
        TestPeer slow = await ConnectAsync("slow");
        for (int i = 0; i < 50; i++)
            await Admin.ProduceAsync(Queue, Text(10_000));
        Assert.Equal(6, (await Admin.FetchAsync(Messages.Open(0, Messages.From(Queue, 0)))).Bodies.Count());
        QueueId other = await CreateAsync("other");
        for (int i = 0; i < 50; i++)
            await Admin.ProduceAsync(other, Text(10_000));
        Assert.Equal(9, (await slow.FetchAsync(Messages.Open(0, Messages.From(other, 0)))).Bodies.Count());
    }

    [Fact]
    public async Task GivenATopicInDebt_WhenReadBesideAnother_ThenOnlyItRestsAndNothingIsLost()
    {
        QueueId other = await CreateAsync("other");
        await SetAsync(QuotaKind.Topic, "orders", fetch: 10_000);
        await Admin.ProduceAsync(Queue, Text(50_000));
        Fetched fetched = await Admin.FetchAsync(
            Messages.Open(0, Messages.From(Queue, 0), Messages.From(other, 0)));
        Assert.Single(fetched.Bodies);
        await Admin.ProduceAsync(Queue, "rests");
        Task<Fetched> fetching = Admin.FetchAsync(fetched.Next(Long));
        TestPeer producer = await ConnectAsync("producer");
        await SlowedAsync(1);
        Assert.False(fetching.IsCompleted);
        await producer.ProduceAsync(other, "goes on");
        fetched = await fetching;
        Assert.Equal(["goes on"], fetched.Bodies);
        fetching = Admin.FetchAsync(fetched.Next(Long));
        await SlowedAsync(2);
        Time.Advance(TimeSpan.FromSeconds(6));
        Assert.Equal(["rests"], (await fetching).Bodies);
        Assert.Empty((await Admin.FetchAsync((await fetching).Next())).Bodies);
    }

    [Fact]
    public async Task GivenAHeldFetch_WhenTheConnectionEndsOrTheBrokerStops_ThenNothingIsLeft()
    {
        await SetAsync(QuotaKind.Client, "slow", fetch: 10_000);
        await Admin.ProduceAsync(Queue, Text(150_000));
        TestPeer slow = await ConnectAsync("slow"), again = await ConnectAsync("slow");
        Fetched first = await slow.FetchAsync(Messages.Open(0, Messages.From(Queue, 0)));
        Task<Fetched> held = slow.FetchAsync(first.Next(Long));
        await SlowedAsync(1);
        await slow.DisposeAsync();
        await Assert.ThrowsAnyAsync<Exception>(() => held);
        held = again.FetchAsync(Messages.Open(Long, Messages.From(Queue, 0)));
        await SlowedAsync(2);
        await Broker.Broker.StopAsync(CancellationToken.None);
        Assert.Single((await held).Bodies);
        Assert.Equal(0, Broker.Broker.CollectStats().Find("broker.fetchSessions"));
    }
}
