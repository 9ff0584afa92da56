using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

/// <summary>Scenarios with three nodes and an etcd.</summary>
public sealed class ReplicationTests
{
    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public Task GivenFaultsOfEachKind_WhenFailoverRuns_ThenEachIsTimedAndNothingIsMissing() =>
        MeasureFailoverAsync(["kill", "pause", "stop"]);

    [Fact]
    public Task GivenNodesThatStop_WhenFailoverRuns_ThenEachIsTimedAndNothingIsMissing() =>
        MeasureFailoverAsync(["stop"], "--part", "stop");

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenThreeCopiesAndOne_WhenClusterRuns_ThenBothAreMeasuredByTurns()
    {
        Assert.SkipUnless(ToolRun.IsInstalled("etcd"), "etcd is not there");
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "cluster", "--part", "async", "--size", "128", "--seconds", "0.5", "--warmup", "0.5", "--repeat",
            "1");

        Assert.Equal(
            [1, 3, 1, 3], rows.Select(row => row.GetProperty("params").GetProperty("replicas").GetInt32()));
        foreach ((JsonElement one, JsonElement three) in new[] { (rows[0], rows[1]), (rows[2], rows[3]) })
        {
            Assert.Equal(JsonValueKind.Null, one.GetProperty("followerCpuSecondsPerGB").ValueKind);
            Assert.True(one.GetProperty("brokerCpuSecondsPerGB").GetDouble() > 0);
            Assert.True(three.GetProperty("followerCpuSecondsPerGB").GetDouble() > 0);
            Assert.True(three.GetProperty("ratioToFirst").GetDouble() > 0);
            Assert.True(three.GetProperty("latencyUs").GetProperty("ack").GetProperty("p99").GetDouble() > 0);
            foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged", "unstored" })
                Assert.Equal(0, three.GetProperty(name).GetInt64());
        }
    }

    [Theory]
    [InlineData("failover", "missing,duplicate,reorder", Traits = [LongRun.Trait, LongRun.Only])]
    [InlineData("cluster", "short")]
    public async Task GivenAPlantedDefect_WhenTheClusterIsMeasured_ThenItExitsWith3AndGivesNoFigure(
        string scenario, string faults)
    {
        Assert.SkipUnless(ToolRun.IsInstalled("etcd"), "etcd is not there");
        using var program = new LoadProgram();
        string[] flags = scenario == "failover"
            ? ["--part", "kill", "--queues", "10", "--changes", "4", "--warmup", "0"]
            : ["--part", "async", "--size", "128", "--seconds", "0.3", "--warmup", "0", "--repeat", "1"];

        JsonElement[] rows = await program.MeasureAsync(LoadExit.WrongData, [scenario, .. flags, "--inject", faults]);

        string name = scenario == "failover" ? "failoverMs" : "latencyUs";
        Assert.DoesNotContain(rows, row => row.GetProperty("missing").GetInt64() == 0
            && row.GetProperty("unstored") is { ValueKind: JsonValueKind.Number } unstored && unstored.GetInt64() == 0);
        Assert.All(rows, row => Assert.NotEqual(JsonValueKind.Number, ValueOf(row, name).ValueKind));
    }

    [Theory]
    [InlineData("failover --server 127.0.0.1:1")]
    [InlineData("failover --part kill,sleep")]
    [InlineData("failover --rate 1,2")]
    [InlineData("failover --changes 3")]
    [InlineData("cluster --server 127.0.0.1:1")]
    [InlineData("cluster --flush sync")]
    [InlineData("cluster --part tmpfs")]
    [InlineData("cluster --size 16")]
    public async Task GivenFlagsThatTheScenarioDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync(flags);
    }

    private static async Task MeasureFailoverAsync(string[] faults, params string[] flags)
    {
        Assert.SkipUnless(ToolRun.IsInstalled("etcd"), "etcd is not there");
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, ["failover", "--queues", "10", "--changes", "4", "--warmup", "0.5", .. flags]);

        Assert.Equal(faults, rows.Select(row => row.GetProperty("params").GetProperty("fault").GetString()));
        Assert.All(rows, row =>
        {
            JsonElement times = row.GetProperty("failoverMs");
            Assert.Equal(4, times.GetProperty("count").GetInt32());
            Assert.InRange(times.GetProperty("p50").GetDouble(), 1, times.GetProperty("max").GetDouble());
            Assert.True(row.GetProperty("epochs").GetInt32() >= 4);
            Assert.InRange(row.GetProperty("singleEpochs").GetInt32(), 0, 4);
            Assert.True(row.GetProperty("messages").GetInt64() > 0);
            foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged" })
                Assert.Equal(0, row.GetProperty(name).GetInt64());
        });
    }

    private static JsonElement ValueOf(JsonElement row, string name) => name == "failoverMs"
        ? row.GetProperty(name).GetProperty("p50")
        : row.GetProperty(name).GetProperty("ack").GetProperty("p50");
}
