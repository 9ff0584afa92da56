using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

public sealed class ColdReadTests
{
    [Fact]
    public async Task GivenMoreThanTheBrokersMemory_WhenReadersReplay_ThenBothSidesAreReported()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "coldread", "--gb", "0.07", "--queues", "8", "--rate", "1000", "--seconds", "0.5", "--warmup",
            "0.2", "--repeat", "2");

        JsonElement row = Assert.Single(rows);
        Assert.Equal(3, row.GetProperty("params").GetProperty("consumers").GetInt32());
        Assert.Equal(2, row.GetProperty("runs").GetArrayLength());
        Assert.Equal(500, row.GetProperty("messages").GetInt64());
        foreach (string name
            in new[] { "sendPerSecond", "consumePerSecond", "consumeMBps", "limitMBps", "ratioToLimit" })
        {
            Assert.True(row.GetProperty(name).GetDouble() > 0, name);
        }

        foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged" })
            Assert.Equal(0, row.GetProperty(name).GetInt64());
        Assert.True(row.GetProperty("latencyUs").GetProperty("ack").GetProperty("p99").GetDouble() > 0);
        foreach (string name in new[] { "value", "p99", "ratio" })
            Assert.True(row.GetProperty("reference").GetProperty(name).GetDouble() > 0, name);
    }

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenADefectOfEachKind_WhenReadersReplay_ThenItExitsWith3AndGivesNoRate()
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(
            "coldread", "--inject", "missing,duplicate,reorder", "--gb", "0.07", "--queues", "4", "--consumers", "1", "--rate", "1000",
            "--seconds", "0.2", "--warmup", "0", "--repeat", "1", "--json", "cold.json");

        Assert.True(outcome.ExitCode == LoadExit.WrongData, outcome.ToString());
        Assert.Contains("wrong data", outcome.Errors, StringComparison.Ordinal);
        JsonElement row = program.ReadJson("cold.json").GetProperty("rows")[0];
        foreach (string name in new[] { "sendPerSecond", "consumePerSecond", "consumeMBps", "ratioToLimit" })
            Assert.Equal(JsonValueKind.Null, row.GetProperty(name).ValueKind);
        IEnumerable<long> wrong =
            new[] { "missing", "duplicated", "reordered" }.Select(name => row.GetProperty(name).GetInt64());
        Assert.Equal([1, 1, 1], wrong);
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--in-flight 5")]
    [InlineData("--size 128,1024")]
    [InlineData("--size 16")]
    [InlineData("--messages 1000")]
    public async Task GivenFlagsThatColdReadDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"coldread {flags}");
    }
}
