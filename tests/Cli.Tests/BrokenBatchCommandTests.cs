using System.Text;
using System.Text.Json;
using EQueue.Support.Stores;

namespace EQueue.Cli.Tests;

/// <summary>Commands that meet batches which an older broker stored although no reader can read them: they pass over them
/// and say so.</summary>
public sealed class BrokenBatchCommandTests
{
    [Fact]
    public async Task GivenEveryWayOfBeingBroken_WhenConsumed_ThenTheRestIsPrintedAndThePlacesAreTold()
    {
        await using CliBroker broker = await CliBroker.StartAsync();
        string[] expected = await FillAsync(broker, "t");
        foreach (string[] how in new string[][] { ["--queue", "0"], ["--group", "g", "--from", "begin"] })
        {
            CliRun run = await CliRun.RunAsync(["consume", "t", .. how, "--server", broker.Address]);
            Assert.Equal(expected, run.OutputLines);
            Assert.Equal(ExitCode.PartlyDone, run.ExitCode);
            Assert.Equal(BrokenBatches.Unreadable.Count, CountOf(run.Error, "Passed over "));
            string places = $"messages in {BrokenBatches.Unreadable.Count} places could not be read";
            Assert.Contains(places, run.Error, StringComparison.Ordinal);
        }
    }

    [Theory]
    [InlineData(long.MinValue)]
    [InlineData(long.MaxValue)]
    public async Task GivenTimesThatNoCalendarHas_WhenShownAsJson_ThenTheNearestAreShown(long time)
    {
        await using CliBroker broker = await CliBroker.StartAsync();
        await broker.Client.Admin.CreateTopicAsync("t", new TopicSettings { QueueCount = 1 });
        await broker.StoreBelowAsync("t", 0, BrokenBatches.At(time, "odd"));
        foreach (string[] command in new string[][]
            { ["consume", "t", "--queue", "0", "--json"], ["find", "t", "--last", "1", "--json"] })
        {
            CliRun run = await CliRun.RunAsync([.. command, "--server", broker.Address]);
            Assert.True(run.ExitCode == ExitCode.Done, run.Error);
            DateTimeOffset shown = JsonDocument.Parse(run.OutputText).RootElement.GetProperty("createTime")
                .GetDateTimeOffset();
            Assert.Equal(time < 0 ? 1 : 9999, shown.Year);
        }
    }

    [Fact]
    public async Task GivenEveryWayOfBeingBroken_WhenForwarded_ThenTheRestArrivesAndThePlacesAreTold()
    {
        await using ForwardPlant plant = await ForwardPlant.StartAsync(queues: 1);
        string[] expected = await FillAsync(plant.Source, "from");

        CliRun run = await plant.ForwardAsync("--json");

        Assert.Equal(ExitCode.PartlyDone, run.ExitCode);
        Assert.Equal(expected.Length, ForwardPlant.CountOf(run));
        Assert.Contains("Passed over ", run.Error, StringComparison.Ordinal);
        Assert.Equal(
            expected, (await plant.ReadTargetAsync()).Select(message => Encoding.UTF8.GetString(message.Body!)));
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("lz4")]
    [InlineData("zstd")]
    [InlineData("snappy")]
    public async Task GivenACodec_WhenLinesAreSent_ThenTheyAreConsumedAsTheyWere(string codec)
    {
        await using CliBroker broker = await CliBroker.StartAsync();
        string[] lines = [.. Enumerable.Range(0, 500).Select(i => $"line {i} of a file with many lines like this one")];
        CliRun sent = await CliRun.RunAsync(
            ["send", "t", "--lines", "-", "--compress", codec, "--server", broker.Address],
            Encoding.UTF8.GetBytes(string.Join('\n', lines)));
        Assert.True(sent.ExitCode == ExitCode.Done, sent.Error);

        CliRun read = await CliRun.RunAsync(["consume", "t", "--group", "g", "--server", broker.Address]);
        Assert.Equal(lines.Order(StringComparer.Ordinal), read.OutputLines.Order(StringComparer.Ordinal));
        Assert.Equal(
            ExitCode.Usage,
            (await CliRun.RunAsync(["send", "t", "x", "--compress", "rar", "--server", broker.Address])).ExitCode);
    }

    /// <summary>A good message before each broken batch.</summary>
    private static async Task<string[]> FillAsync(CliBroker broker, string topic)
    {
        if (topic == "t")
            await broker.Client.Admin.CreateTopicAsync(topic, new TopicSettings { QueueCount = 1 });
        string[] bodies = [.. BrokenBatches.Unreadable.Keys.Select(what => $"before {what}"), "last"];
        await broker.StoreBelowAsync(
            topic,
            0,
            [
                .. BrokenBatches.Unreadable.Values.SelectMany(
                    (batch, i) => new[] { BrokenBatches.Good(bodies[i]), batch }),
                BrokenBatches.Good("last"),
            ]);
        return bodies;
    }

    private static int CountOf(string text, string part) => text.Split(part).Length - 1;
}
