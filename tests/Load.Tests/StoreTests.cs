using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

public sealed class StoreTests
{
    [Fact]
    public async Task GivenAFewBatches_WhenTheStoreRuns_ThenEachModeIsReportedBesideTheBareLoop()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "store", "--size", "1024", "--producers", "2", "--messages", "1000", "--warmup", "0",
            "--repeat", "2");

        Assert.Equal(["async", "sync", "sync"], rows.Select(row => Parameter(row, "flush").GetString()));
        Assert.Equal([2, 2, 1], rows.Select(row => Parameter(row, "producers").GetInt32()));
        Assert.All(rows, row =>
        {
            Assert.Equal(2, row.GetProperty("runs").GetArrayLength());
            string[] measured =
                ["sendPerSecond", "sendMBps", "diskWriteMBps", "bytesWritten", "limitMBps", "ratioToLimit"];
            foreach (string name in measured)
                Assert.True(row.GetProperty(name).GetDouble() > 0, name);
            foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged" })
                Assert.Equal(0, row.GetProperty(name).GetInt64());
            Assert.True(row.GetProperty("messages").GetInt64() >= 1000);
            Assert.True(row.GetProperty("latencyUs").GetProperty("ack").GetProperty("p50").GetDouble() > 0);
            Assert.True(row.GetProperty("reference").GetProperty("value").GetDouble() > 0);
        });
        Assert.Equal(1, Parameter(rows[2], "batchMessages").GetInt32());
        Assert.True(rows[2].GetProperty("reference").GetProperty("ratio").GetDouble() > 0);
    }

    [Theory]
    [InlineData(16)]
    [InlineData(65_536)]
    [InlineData(300_000, Traits = [LongRun.Trait, LongRun.Only])]
    public async Task GivenASize_WhenTheStoreRuns_ThenWhatComesBackIsWhatWasAppended(int size)
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "store", "--size", $"{size}", "--flush", "async", "--queues", "3", "--messages", "1000",
            "--warmup", "0", "--repeat", "1");

        Assert.Equal(0, rows[0].GetProperty("missing").GetInt64());
    }

    [Fact]
    public async Task GivenADefectOfEachKind_WhenTheStoreRuns_ThenItExitsWith3AndGivesNoRate()
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(
            "store", "--inject", "missing,duplicate,reorder", "--size", "1024", "--flush", "async", "--messages", "8000", "--warmup", "0",
            "--json", "store.json");

        Assert.True(outcome.ExitCode == LoadExit.WrongData, outcome.ToString());
        Assert.Contains("wrong data", outcome.Errors, StringComparison.Ordinal);
        Assert.DoesNotContain("/s", outcome.Output + outcome.Errors, StringComparison.Ordinal);
        JsonElement row = program.ReadJson("store.json").GetProperty("rows")[0];
        foreach (string name in new[] { "sendPerSecond", "sendMBps", "ratioToLimit" })
            Assert.Equal(JsonValueKind.Null, row.GetProperty(name).ValueKind);
        long batch = Parameter(row, "batchMessages").GetInt64();
        IEnumerable<long> wrong =
            new[] { "missing", "duplicated", "reordered" }.Select(name => row.GetProperty(name).GetInt64());
        Assert.Equal([batch, batch, batch], wrong);
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--rate 100")]
    [InlineData("--in-flight 5")]
    [InlineData("--producers 3 --messages 2")]
    [InlineData("--queues 5000")]
    public async Task GivenFlagsThatTheStoreDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"store {flags}");
    }

    private static JsonElement Parameter(JsonElement row, string name) => row.GetProperty("params").GetProperty(name);
}
