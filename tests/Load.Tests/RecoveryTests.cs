using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

public sealed class RecoveryTests
{
    [Fact]
    public async Task GivenASmallLogAndFewQueues_WhenTheServerIsKilled_ThenColdAndWarmStartsAreReported()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "recovery", "--gb", "0.02", "--queues", "50", "--messages", "5000", "--repeat", "1");

        Assert.Equal(["log", "log", "queues", "queues"], rows.Select(row => Parameter(row, "case").GetString()));
        Assert.Equal(["cold", "warm", "cold", "warm"], rows.Select(row => Parameter(row, "cache").GetString()));
        Assert.All(rows, row =>
        {
            Assert.True(row.GetProperty("readySeconds").GetDouble() > 0);
            Assert.True(row.GetProperty("broker").GetProperty("rssBytes").GetInt64() > 0);
            Assert.True(row.GetProperty("reference").GetProperty("value").GetDouble() > 0);
            Assert.True(row.GetProperty("messages").GetInt64() > 5000);
            Assert.Equal(0, row.GetProperty("missing").GetInt64());
            Assert.Equal(0, row.GetProperty("duplicated").GetInt64());
            Assert.Equal(JsonValueKind.Null, row.GetProperty("sendPerSecond").ValueKind);
        });
    }

    [Theory]
    [Trait(LongRun.Trait, LongRun.Only)]
    [InlineData("short", "missing")]
    [InlineData("duplicate", "duplicated")]
    public async Task GivenAPlantedDefect_WhenTheServerIsBack_ThenItExitsWith3AndTellsNoTime(string faults, string fault)
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(
            "recovery", "--inject", faults, "--gb", "0.01", "--queues", "10", "--messages", "100",
            "--json", "recovery.json");

        Assert.True(outcome.ExitCode == LoadExit.WrongData, outcome.ToString());
        Assert.Contains("wrong data", outcome.Errors, StringComparison.Ordinal);
        JsonElement row = program.ReadJson("recovery.json").GetProperty("rows")[0];
        Assert.Equal(JsonValueKind.Null, row.GetProperty("readySeconds").ValueKind);
        Assert.True(row.GetProperty(fault).GetInt64() > 0);
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--rate 100")]
    [InlineData("--seconds 1")]
    [InlineData("--inject reorder")]
    [InlineData("--queues 10 --messages 9")]
    [InlineData("--gb 0")]
    public async Task GivenFlagsThatRecoveryDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"recovery {flags}");
    }

    private static JsonElement Parameter(JsonElement row, string name) => row.GetProperty("params").GetProperty(name);
}
