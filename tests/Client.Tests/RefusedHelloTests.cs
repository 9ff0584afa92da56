namespace EQueue.Client.Tests;

/// <summary>A broker that refuses to greet: for now, or for good.</summary>
public sealed class RefusedHelloTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(ErrorCode.InternalError)]
    [InlineData(ErrorCode.ShuttingDown)]
    [InlineData(ErrorCode.LimitReached)]
    public async Task GivenARefusalThatMayPass_WhenItHasPassed_ThenTheClientGoesOnByItself(ErrorCode refusal)
    {
        await using FakeBroker broker = await FakeBroker.StartAsync();
        broker.MeetHello = attempt => attempt < 3 ? refusal : ErrorCode.None;
        await using var client = new EQueueClient(broker.Address);
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("t", BitConverter.GetBytes(7).AsSpan(), cancellationToken: Token);
        Assert.Equal([7], broker.All());
    }

    [Theory]
    [InlineData(ErrorCode.UnsupportedVersion)]
    [InlineData(ErrorCode.AuthenticationFailed)]
    [InlineData(ErrorCode.Unauthenticated)]
    [InlineData(ErrorCode.NotAuthorized)]
    [InlineData(ErrorCode.InvalidArgument)]
    public async Task GivenARefusalThatNeverPasses_WhenTheClientCalls_ThenItIsToldAtOnceAndNotTriedAgain(
        ErrorCode refusal)
    {
        await using FakeBroker broker = await FakeBroker.StartAsync();
        broker.MeetHello = _ => refusal;
        await using var client = new EQueueClient(broker.Address);
        for (int call = 0; call < 2; call++)
        {
            EQueueException told =
                await Assert.ThrowsAsync<EQueueException>(() => client.Admin.DescribeBrokerAsync(Token).AsTask());
            Assert.Equal((refusal, "As the test says."), (told.Code, told.Message));
        }

        Assert.Equal(1, broker.HelloCount);
    }
}
