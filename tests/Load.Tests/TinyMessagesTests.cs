using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

public sealed class TinyMessagesTests
{
    [Fact]
    public async Task GivenAFewConnections_WhenMessagesAreEnqueuedAndDequeued_ThenEachFormHasARowBesideTheOldFigure()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "tiny-messages", "--part", "enqueue,through", "--producers", "3", "--messages", "9001", "--warmup",
            "0", "--repeat", "1");

        Assert.Equal(["enqueue", "enqueue", "through", "through"], rows.Select(row => Text(row, "part")));
        Assert.Equal(["message", "batch", "message", "batch"], rows.Select(row => Text(row, "api")));
        Assert.Equal([4e6, 40e6, 2e6, 20e6], rows.Select(row => Reference(row, "value")));
        Assert.All(rows, row =>
        {
            Assert.Equal(10, row.GetProperty("params").GetProperty("size").GetInt32());
            Assert.Equal(9001, row.GetProperty("messages").GetInt64());
            JsonElement rate = row.GetProperty(Text(row, "part") == "enqueue" ? "sendPerSecond" : "consumePerSecond");
            Assert.Equal(rate.GetDouble() / Reference(row, "value"), Reference(row, "ratio"), tolerance: 0.001);
            Assert.Equal(0, row.GetProperty("missing").GetInt64());
            Assert.Equal(0, row.GetProperty("duplicated").GetInt64());
        });
        Assert.Equal(10, rows[3].GetProperty("params").GetProperty("batchMessages").GetInt32());
        Assert.Equal(3, rows[3].GetProperty("params").GetProperty("consumers").GetInt32());
    }

    [Fact]
    public async Task GivenMoreProducersThanABoundLetsIn_WhenAConsumerComes_ThenAllResumeAndNothingIsLost()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "tiny-messages", "--part", "blocked", "--producers", "20", "--repeat", "1");

        JsonElement row = Assert.Single(rows);
        Assert.InRange(row.GetProperty("maxDepth").GetInt64(), 1, 128);
        Assert.True(row.GetProperty("blockedBatches").GetInt64() >= 20);
        Assert.True(row.GetProperty("resumeSeconds").GetDouble() > 0);
        Assert.Equal(20 * 200, row.GetProperty("messages").GetInt64());
        foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged" })
            Assert.Equal(0, row.GetProperty(name).GetInt64());
    }

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenABoundedQueue_WhenItIsKeptFull_ThenBothLatenciesAreToldAndManyProducersHaveARow()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "tiny-messages", "--part", "depth,many", "--connections", "60", "--seconds", "0.5", "--warmup",
            "0.1", "--repeat", "1");

        Assert.Equal(["depth", "depth", "many"], rows.Select(row => Text(row, "part")));
        Assert.All(rows[..2], row => Assert.InRange(row.GetProperty("maxDepth").GetInt64(), 0, 128));
        Assert.Equal([10.0, 20.0], rows[..2].Select(row => Reference(row, "value")));
        double endToEnd = rows[1].GetProperty("latencyUs").GetProperty("endToEnd").GetProperty("p50").GetDouble();
        Assert.Equal(endToEnd / 20, Reference(rows[1], "ratio"), tolerance: 0.001);
        Assert.Equal(30, rows[2].GetProperty("params").GetProperty("producers").GetInt32());
        Assert.Equal("--connections 60", Text(rows[2], "endedBy"));
        Assert.Equal(60, rows[2].GetProperty("openConnections").GetInt32());
        Assert.True(rows[2].GetProperty("consumePerSecond").GetDouble() > 0);
    }

    [Theory]
    [InlineData("through")]
    [InlineData("blocked")]
    public async Task GivenAPlantedDefect_WhenTinyMessagesRun_ThenItExitsWith3AndGivesNoRate(string part)
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.WrongData, "tiny-messages", "--part", part, "--producers", "15", "--messages", "9000", "--warmup", "0",
            "--repeat", "1", "--inject", "missing");

        JsonElement row = rows[0];
        Assert.Equal(1, row.GetProperty("missing").GetInt64());
        foreach (string name in new[] { "consumePerSecond", "resumeSeconds" })
            Assert.Equal(JsonValueKind.Null, row.GetProperty(name).ValueKind);
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--part sideways")]
    [InlineData("--size 10,20")]
    public async Task GivenFlagsThatTinyMessagesDoNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"tiny-messages {flags}");
    }

    private static string? Text(JsonElement row, string name) =>
        row.GetProperty("params").GetProperty(name).GetString();

    private static double Reference(JsonElement row, string name) =>
        row.GetProperty("reference").GetProperty(name).GetDouble();
}
