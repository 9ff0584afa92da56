using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

public sealed class PackingTests
{
    [Fact]
    public async Task GivenAFewSegments_WhenPackingRuns_ThenEachPaceIsReportedBesideARunThatLetsNothingGo()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "packing", "--messages", "100000", "--rate", "50000", "--warmup", "0", "--repeat", "1");

        Assert.Equal(
            [JsonValueKind.Null, JsonValueKind.Number],
            rows.Select(row => row.GetProperty("params").GetProperty("rate").ValueKind));
        Assert.All(rows, row =>
        {
            string[] measured =
                ["sendPerSecond", "logBytes", "replayBytes", "liveBytes", "logToLive", "settledToLive"];
            foreach (string name in measured)
                Assert.True(row.GetProperty(name).GetDouble() > 0, name);
            foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged", "segmentsRemoved" })
                Assert.Equal(0, row.GetProperty(name).GetInt64());
            // How many it is in so short a run, the machine decides.
            Assert.Equal(JsonValueKind.Number, row.GetProperty("segmentsPacked").ValueKind);
            Assert.True(row.GetProperty("logToLive").GetDouble() > row.GetProperty("settledToLive").GetDouble());
            foreach (string name in new[] { "value", "p99", "ratio" })
                Assert.True(row.GetProperty("reference").GetProperty(name).GetDouble() > 0, name);
        });
    }

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenADefectOfEachKind_WhenPackingRuns_ThenItExitsWith3AndGivesNoRate()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.WrongData, "packing", "--inject", "missing,duplicate,reorder", "--messages", "50000", "--warmup",
            "0");

        JsonElement row = rows[0];
        foreach (string name in new[] { "sendPerSecond", "sendMBps" })
            Assert.Equal(JsonValueKind.Null, row.GetProperty(name).ValueKind);
        long batch = row.GetProperty("params").GetProperty("batchMessages").GetInt64();
        IEnumerable<long> wrong =
            new[] { "missing", "duplicated", "reordered" }.Select(name => row.GetProperty(name).GetInt64());
        Assert.Equal([batch, batch, batch], wrong);
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--in-flight 5")]
    [InlineData("--queues 4")]
    [InlineData("--producers 2")]
    public async Task GivenFlagsThatPackingDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"packing {flags}");
    }
}
