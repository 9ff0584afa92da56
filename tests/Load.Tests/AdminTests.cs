using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

public sealed class AdminTests
{
    private static readonly string[] Kinds =
    [
        "all", "http topics", "http topic", "http groups", "http lag", "http stats", "http metrics", "port list",
        "port describe",
    ];

    [Fact]
    public async Task GivenProducersAndConsumersAtWork_WhenAdminRuns_ThenTheAnswersOfEachKindAreTimed()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "admin", "--topics", "3", "--queues", "2", "--seconds", "0.5", "--warmup", "0.3", "--repeat",
            "1", "--rate", "80", "--in-flight", "500");

        Assert.Equal(Kinds, rows.Select(row => row.GetProperty("params").GetProperty("kind").GetString()));
        IEnumerable<int> counts = rows.Select(row => row.GetProperty("adminMs").GetProperty("count").GetInt32());
        Assert.Equal([40, .. Enumerable.Repeat(5, 8)], counts);
        foreach (JsonElement row in rows)
        {
            foreach (string name in new[] { "p50", "p99", "max" })
                Assert.True(row.GetProperty("adminMs").GetProperty(name).GetDouble() > 0, name);
            Assert.True(row.GetProperty("reference").GetProperty("p99").GetDouble() > 0);
        }

        Assert.True(rows[0].GetProperty("consumePerSecond").GetDouble() > 0);
        foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged", "unstored" })
            Assert.Equal(0, rows[0].GetProperty(name).GetInt64());
        Assert.Equal(JsonValueKind.Null, rows[1].GetProperty("consumePerSecond").ValueKind);
    }

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenALostMessage_WhenAdminRuns_ThenItExitsWith3AndTellsNoTime()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.WrongData, "admin", "--inject", "missing", "--topics", "2", "--seconds", "0.2", "--warmup", "0.1",
            "--repeat", "1", "--in-flight", "500");

        JsonElement row = Assert.Single(rows);
        Assert.Equal(1, row.GetProperty("missing").GetInt64());
        Assert.Equal(JsonValueKind.Null, row.GetProperty("adminMs").GetProperty("p99").ValueKind);
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--messages 100")]
    [InlineData("--size 128,1024")]
    [InlineData("--consumers 0")]
    [InlineData("--warmup 0")]
    public async Task GivenFlagsThatAdminDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"admin {flags}");
    }
}
