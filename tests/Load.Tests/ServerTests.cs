using System.Text.Json;
using EQueue.Broker;

namespace EQueue.Load.Tests;

public sealed class ServerTests
{
    [Fact]
    public async Task GivenARunningServer_WhenThroughputRunsAgainstIt_ThenItIsMeasuredAndNoTopicIsLeft()
    {
        using var program = new LoadProgram();
        var options = new BrokerOptions { Listen = "127.0.0.1:0", DataDirectory = program.PathOf("server") };
        await using EQueueBroker broker = await EQueueBroker.StartAsync(
            options, cancellationToken: TestContext.Current.CancellationToken);

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "throughput", "--server", $"{broker.EndPoint}", "--size", "128", "--messages", "5000",
            "--warmup", "0", "--repeat", "1", "--topics", "2", "--no-limit");

        JsonElement row = rows[0];
        Assert.Equal("the server's", row.GetProperty("params").GetProperty("flush").GetString());
        Assert.True(row.GetProperty("broker").GetProperty("rssBytes").GetDouble() > 0);
        await using var client = new EQueueClient($"{broker.EndPoint}");
        await foreach (TopicListing topic in client.Admin.ListTopicsAsync(TestContext.Current.CancellationToken))
            Assert.Fail($"a topic is left: {topic}");
    }
}
