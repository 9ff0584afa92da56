using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

public sealed class GroupsTests
{
    private static readonly string[] Short =
    [
        "groups", "--consumers", "3", "--queues", "6", "--messages", "40000", "--warmup", "0.2", "--repeat", "1",
        "--rate", "2000",
    ];

    [Fact]
    public async Task GivenThreeMembers_WhenGroupsRuns_ThenBothRatesAndEachKindOfChangeAreMeasured()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(LoadExit.Ok, [.. Short, "--changes", "8"]);

        JsonElement row = Assert.Single(rows);
        JsonElement parameters = row.GetProperty("params");
        Assert.Equal(3, parameters.GetProperty("members").GetInt32());
        Assert.Equal(30_000, parameters.GetProperty("sessionTimeoutMs").GetInt32());
        Assert.Equal(1_000, parameters.GetProperty("reconnectGraceMs").GetInt32());
        double manual = row.GetProperty("reference").GetProperty("value").GetDouble();
        double ratio = row.GetProperty("groupToManual").GetDouble();
        Assert.Equal(row.GetProperty("consumePerSecond").GetDouble() / manual, ratio, tolerance: 0.001);
        foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged" })
            Assert.Equal(0, row.GetProperty(name).GetInt64());
        Assert.True(row.GetProperty("repeated").GetInt64() >= 0);
        JsonElement rebalance = row.GetProperty("rebalanceMs");
        foreach ((string change, int count) in new[] { ("join", 4), ("leave", 2), ("kill", 2) })
        {
            JsonElement measured = rebalance.GetProperty(change);
            Assert.Equal(count, measured.GetProperty("count").GetInt32());
            Assert.InRange(measured.GetProperty("p50").GetDouble(), 0.001, measured.GetProperty("p99").GetDouble());
            Assert.InRange(
                measured.GetProperty("p99").GetDouble(), 0.001, measured.GetProperty("max").GetDouble() + 0.001);
        }

        Assert.True(
            rebalance.GetProperty("kill").GetProperty("p50").GetDouble() > 900, "a killed member has its grace first");
    }

    /// <summary>Planted in the group, among the queues split by hand, and among the changes, where what comes twice
    /// is no fault.</summary>
    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenADefectOfEachKind_WhenGroupsRuns_ThenItExitsWith3AndGivesNoRate()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.WrongData, [.. Short, "--changes", "4", "--inject", "missing,duplicate,reorder"]);

        JsonElement row = Assert.Single(rows);
        foreach (string name in new[] { "consumePerSecond", "groupToManual" })
            Assert.Equal(JsonValueKind.Null, row.GetProperty(name).ValueKind);
        Assert.Equal(
            JsonValueKind.Null, row.GetProperty("rebalanceMs").GetProperty("join").GetProperty("p50").ValueKind);
        Assert.Equal(
            [3, 2, 3],
            new[] { "missing", "duplicated", "reordered" }.Select(name => row.GetProperty(name).GetInt64()));
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--topics 2")]
    [InlineData("--rate 1,2")]
    [InlineData("--consumers 17")]
    [InlineData("--consumers 1 --queues 1")]
    [InlineData("--changes 3")]
    public async Task GivenFlagsThatGroupsDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"groups {flags}");
    }
}
