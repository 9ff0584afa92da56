namespace EQueue.Client.Tests;

/// <summary>What a broker says of itself, in the client's own words.</summary>
public sealed class BrokerDescriptionTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenABroker_WhenDescribed_ThenItTellsWhatItIsAndAllows()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        DateTimeOffset before = DateTimeOffset.UtcNow.AddSeconds(-1);
        BrokerDescription first = await broker.Client.Admin.DescribeBrokerAsync(Token);
        Assert.StartsWith("EQueue.Broker/", first.Version, StringComparison.Ordinal);
        Assert.Equal(1, first.ProtocolVersion);
        Assert.NotEqual(Guid.Empty, first.BrokerId);
        Assert.NotEqual(Guid.Empty, first.StoreId);
        Assert.Equal(4 * 1024 * 1024, first.MaxMessageBytes);
        Assert.InRange(first.MaxBatchBytes, first.MaxMessageBytes, first.MaxFrameBytes);
        Assert.InRange(first.Time, before, DateTimeOffset.UtcNow.AddSeconds(1));

        await broker.RestartAsync();
        await using var client = new EQueueClient(broker.Address);
        BrokerDescription second = await client.Admin.DescribeBrokerAsync(Token);
        Assert.Equal((first.BrokerId, first.StoreId), (second.BrokerId, second.StoreId));
        Assert.True(second.Incarnation > first.Incarnation, $"{first.Incarnation}, then {second.Incarnation}");
    }

    [Fact]
    public async Task GivenABroker_WhenItsFiguresAreRead_ThenTheyAreFoundByNameAndTheRestIsNull()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        BrokerFigures figures = await broker.Client.Admin.ReadFiguresAsync(Token);
        Assert.Equal(1, figures.Find("broker.connections"));
        Assert.Equal(figures.All.Single(figure => figure.Name == "broker.requests").Value, figures.Find("broker.requests"));
        Assert.Null(figures.Find("broker.Connections"));
    }

    [Fact]
    public void GivenACreatedToken_WhenShown_ThenItKeepsItsSecret() =>
        Assert.Equal("token abc", new CreatedToken("abc", "abc.secret").ToString());
}
