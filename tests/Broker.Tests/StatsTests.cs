using EQueue.Protocol;

namespace EQueue.Broker.Tests;

public sealed class StatsTests
{
    [Fact]
    public async Task GivenABroker_WhenAskedForItsFigures_ThenEachIsNamedOnThePageOfTheProtocol()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer peer = await broker.ConnectAsync();
        await peer.InvokeAsync(new CreateTopicRequest("orders", new TopicSettings { MaxBacklogMessages = 9 }));
        string page = await File.ReadAllTextAsync(FindPage());
        StatsResponse stats = await peer.InvokeAsync(new StatsRequest());
        Assert.True(stats.Figures.Count > 20);
        Assert.Equal(5, stats.Figures.Count(figure => figure.Name.EndsWith("{orders}", StringComparison.Ordinal)));
        Assert.All(stats.Figures, figure => Assert.Contains(
            Generalize(figure.Name), page, StringComparison.Ordinal));
        Assert.Equal(stats.Figures.Count, stats.Figures.Select(figure => figure.Name).Distinct().Count());
    }

    [Fact]
    public async Task GivenWork_WhenAskedForItsFigures_ThenTheyHaveCountedIt()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using TestPeer peer = await broker.ConnectAsync();
        QueueId queue = (await peer.CreateTopicAsync("orders", 3)).Queues[0].Id;
        await peer.ProduceAsync(Durability.Durable, (queue, Messages.Batch("a", "b")), (queue, Messages.Batch("c")));
        await peer.FetchAsync(Messages.Open(0, Messages.From(queue, 0)));
        StatsResponse stats = await peer.InvokeAsync(new StatsRequest());
        Assert.Equal(3, stats.Find("store.appendedMessages"));
        Assert.Equal(2, stats.Find("store.appendedBatches"));
        Assert.Equal((1L, 3L), (stats.Find("broker.topics"), stats.Find("broker.queues")));
        Assert.Equal((1L, 1L), (stats.Find("broker.produceRequests"), stats.Find("broker.fetchRequests")));
        Assert.Equal((1L, 1L), (stats.Find("broker.connections"), stats.Find("broker.fetchSessions")));
        Assert.True(stats.Find("store.fdatasyncs") > 0);
        Assert.True(stats.Find("store.bytesWritten") > 0);
        Assert.True(stats.Find("broker.fetchedBytes") > 0);
        Assert.True(stats.Find("process.cpuMicroseconds") > 0);
        Assert.True(stats.Find("process.residentBytes") > 1 << 20);
        Assert.True(stats.Find("process.allocatedBytes") > 0);
    }

    /// <summary>A figure of each topic, or of each pool of memory, as the page writes it.</summary>
    private static string Generalize(string figure)
    {
        int brace = figure.IndexOf('{', StringComparison.Ordinal);
        if (brace < 0)
            return figure;
        return figure[..brace] + (figure.StartsWith("memory.", StringComparison.Ordinal) ? "{P}" : "{T}");
    }

    private static string FindPage()
    {
        string? directory = AppContext.BaseDirectory;
        while (directory is not null && !File.Exists(Path.Combine(directory, "EQueue.sln")))
            directory = Path.GetDirectoryName(directory);
        return Path.Combine(
            directory ?? throw new InvalidOperationException("No EQueue.sln above the tests."), "docs", "protocol.md");
    }
}
