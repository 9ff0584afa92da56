using System.Text.Json;

namespace EQueue.Load.Tests;

public sealed class GroupsTests
{
    private static readonly string[] Short =
    [
        "groups", "--consumers", "3", "--queues", "6", "--messages", "40000", "--warmup", "0.2", "--repeat", "1",
        "--rate", "2000", "--json", "groups.json",
    ];

    [Fact]
    public async Task GivenThreeMembers_WhenGroupsRuns_ThenBothRatesAndEachKindOfChangeAreMeasured()
    {
        using var program = new LoadProgram();

        var outcome = await program.RunAsync([.. Short, "--changes", "8"]);

        Assert.True(outcome.ExitCode == LoadExit.Ok, outcome.ToString());
        var row = Assert.Single(program.ReadJson("groups.json").GetProperty("rows").EnumerateArray());
        var parameters = row.GetProperty("params");
        Assert.Equal(3, parameters.GetProperty("members").GetInt32());
        Assert.Equal(30_000, parameters.GetProperty("sessionTimeoutMs").GetInt32());
        Assert.Equal(1_000, parameters.GetProperty("reconnectGraceMs").GetInt32());
        var manual = row.GetProperty("reference").GetProperty("value").GetDouble();
        var ratio = row.GetProperty("groupToManual").GetDouble();
        Assert.Equal(row.GetProperty("consumePerSecond").GetDouble() / manual, ratio, tolerance: 0.001);
        foreach (var name in new[] { "missing", "duplicated", "reordered", "damaged" })
            Assert.Equal(0, row.GetProperty(name).GetInt64());
        Assert.True(row.GetProperty("repeated").GetInt64() >= 0);
        var rebalance = row.GetProperty("rebalanceMs");
        foreach (var (change, count) in new[] { ("join", 4), ("leave", 2), ("kill", 2) })
        {
            var measured = rebalance.GetProperty(change);
            Assert.Equal(count, measured.GetProperty("count").GetInt32());
            Assert.InRange(measured.GetProperty("p50").GetDouble(), 0.001, measured.GetProperty("p99").GetDouble());
            Assert.InRange(
                measured.GetProperty("p99").GetDouble(), 0.001, measured.GetProperty("max").GetDouble() + 0.001);
        }

        Assert.True(
            rebalance.GetProperty("kill").GetProperty("p50").GetDouble() > 900, "a killed member has its grace first");
        Assert.Equal(
            ["groups.json"], Directory.GetFileSystemEntries(program.WorkingDirectory).Select(Path.GetFileName));
    }

    /// <summary>Planted in the group, among the queues split by hand, and among the changes, where what comes twice
    /// is no fault.</summary>
    [Theory]
    [InlineData("missing", 3, 0, 0)]
    [InlineData("duplicate", 0, 2, 0)]
    [InlineData("reorder", 0, 0, 3)]
    public async Task GivenAPlantedDefect_WhenGroupsRuns_ThenItExitsWith3AndGivesNoRate(
        string plant, long missing, long duplicated, long reordered)
    {
        using var program = new LoadProgram();

        var outcome = await program.RunAsync([.. Short, "--changes", "4", "--plant", plant]);

        Assert.True(outcome.ExitCode == LoadExit.WrongData, outcome.ToString());
        var row = program.ReadJson("groups.json").GetProperty("rows")[0];
        foreach (var name in new[] { "consumePerSecond", "groupToManual" })
            Assert.Equal(JsonValueKind.Null, row.GetProperty(name).ValueKind);
        Assert.Equal(
            JsonValueKind.Null, row.GetProperty("rebalanceMs").GetProperty("join").GetProperty("p50").ValueKind);
        Assert.Equal(
            [missing, duplicated, reordered],
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
        using var program = new LoadProgram();

        var outcome = await program.RunAsync(["groups", .. flags.Split(' ')]);

        Assert.True(outcome.ExitCode == LoadExit.Usage, outcome.ToString());
        Assert.Empty(Directory.GetFileSystemEntries(program.WorkingDirectory));
    }
}
