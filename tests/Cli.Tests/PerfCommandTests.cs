using System.Text.Json;
using EQueue.Cli.Measuring;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary><c>perf</c> against a real broker, within this process, and how it counts.</summary>
public sealed class PerfCommandTests : CommandTest
{
    [Fact]
    public async Task GivenABroker_WhenItIsTested_ThenRateAndLatencyAreToldAndNoTopicIsLeft()
    {
        JsonElement told = await JsonOfAsync("perf", "--seconds", "1", "--size", "64", "--rate", "2000");
        Assert.Equal(
            [
                "messages", "size", "seconds", "messagesPerSecond", "MBps", "ackUs", "endToEndUs", "missing", "repeated",
            ],
            told.EnumerateObject().Select(property => property.Name));
        Assert.True(told.GetProperty("messages").GetInt64() > 0);
        Assert.Equal(0, told.GetProperty("missing").GetInt64());
        JsonElement ack = told.GetProperty("ackUs");
        Assert.True(ack.GetProperty("p50").GetInt64() <= ack.GetProperty("p999").GetInt64());
        Assert.True(ack.GetProperty("p999").GetInt64() <= ack.GetProperty("max").GetInt64());
        CliRun people = await DoneAsync("perf", "--seconds", "1", "--queues", "1");
        Assert.Matches(@"^\d+ messages of 256 bytes in \S+ s: \d+ messages/s, ", people.OutputText);
        Assert.Empty((await DoneAsync("topic", "list")).Output);
    }

    [Fact]
    public async Task GivenATestThatIsGivenUp_WhenItEnds_ThenItsTopicIsGone()
    {
        using var ended = new CancellationTokenSource();
        Task<CliRun> testing = CliRun.RunAsync(WithServer("perf", "--seconds", "60"), [], ended.Token);
        await Eventually.TrueAsync(
            async () => (await DoneAsync("topic", "list")).OutputText.StartsWith("equeue-perf-", StringComparison.Ordinal));
        await ended.CancelAsync();
        Assert.Equal(ExitCode.Interrupted, (await testing).ExitCode);
        Assert.Empty((await DoneAsync("topic", "list")).Output);
    }

    [Fact]
    public void GivenLatencies_WhenSharesAreFound_ThenTheyAreWithinThreePercent()
    {
        var counts = new LatencyCounts();
        Assert.Null(counts.Find(0.5));
        for (int i = 1; i <= 100_000; i++)
            counts.Add(TimeSpan.FromMicroseconds(i));
        Assert.Equal(100_000, counts.Max);
        foreach (double share in new[] { 0.0001, 0.5, 0.9, 0.99, 0.999, 1 })
            Assert.InRange(counts.Find(share)!.Value, share * 100_000, share * 103_200);
    }
}
