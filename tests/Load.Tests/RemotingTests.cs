using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

public sealed class RemotingTests
{
    [Fact]
    public async Task GivenTwoClients_WhenCallsRun_ThenEachModeIsReportedAndEveryRequestIsAccountedFor()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "remoting", "--size", "128", "--producers", "2", "--seconds", "0.3", "--warmup", "0.1",
            "--repeat", "2");

        Assert.Equal(["oneway", "async", "sync"], rows.Select(row => Parameter(row, "mode").GetString()));
        Assert.All(rows, row =>
        {
            Assert.Equal(2, Parameter(row, "clients").GetInt32());
            Assert.Equal(2, row.GetProperty("runs").GetArrayLength());
            Assert.True(row.GetProperty("sendPerSecond").GetDouble() > 0);
            Assert.Equal(0, row.GetProperty("missing").GetInt64());
            Assert.Equal(0, row.GetProperty("reordered").GetInt64());
            Assert.True(row.GetProperty("reference").GetProperty("value").GetDouble() > 0);
            Assert.True(row.GetProperty("bareStreamMBps").GetDouble() > 0);
            Assert.True(row.GetProperty("barePingPongPerSecond").GetDouble() > 0);
            Assert.True(CoreDistance(row) is null or (> 1 and < 100_000));
            foreach (string role in new[] { "broker", "producer" })
                Assert.True(row.GetProperty(role).GetProperty("cpuPercent").GetDouble() > 0, role);
        });
        Assert.True(rows[0].GetProperty("onewayToStream").GetDouble() > 0);
        Assert.True(rows[1].GetProperty("asyncToOneway").GetDouble() > 0);
        Assert.Equal(2000, Parameter(rows[1], "inFlight").GetInt32());
        Assert.Equal(JsonValueKind.Null, rows[2].GetProperty("syncToPingPong").ValueKind);
        Assert.Equal(JsonValueKind.Null, Ack(rows[0]).ValueKind);
        Assert.True(Ack(rows[2]).GetDouble() > 0);
    }

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenANumberOfCalls_WhenOneClientMakesThem_ThenTheTimeAndTheOldFiguresAreTold()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "remoting", "--size", "1024", "--producers", "1", "--messages", "3001", "--seconds", "0.2",
            "--warmup", "0", "--repeat", "1");

        Assert.All(rows, row =>
        {
            Assert.Equal(3001, row.GetProperty("messages").GetInt64());
            Assert.True(row.GetProperty("elapsedSeconds").GetDouble() > 0);
        });
        Assert.Equal(33_000, rows[1].GetProperty("reference").GetProperty("value").GetDouble());
        Assert.Equal(
            rows[1].GetProperty("sendPerSecond").GetDouble() / 33_000,
            rows[1].GetProperty("reference").GetProperty("ratio").GetDouble(),
            tolerance: 0.001);
        Assert.Equal(
            rows[2].GetProperty("barePingPongPerSecond").GetDouble() / rows[2].GetProperty("sendPerSecond").GetDouble(),
            rows[2].GetProperty("syncToPingPong").GetDouble(),
            tolerance: 0.001);
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--messages 1")]
    [InlineData("--rate 5")]
    [InlineData("--inject missing")]
    public async Task GivenAFlagThatRemotingDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"remoting {flags}");
    }

    private static double? CoreDistance(JsonElement row) =>
        row.GetProperty("coreToCoreNs") is { ValueKind: JsonValueKind.Number } number ? number.GetDouble() : null;

    private static JsonElement Parameter(JsonElement row, string name) => row.GetProperty("params").GetProperty(name);

    private static JsonElement Ack(JsonElement row) =>
        row.GetProperty("latencyUs").GetProperty("ack").GetProperty("p50");
}
