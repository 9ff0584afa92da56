using System.Text.Json;
using EQueue.Load.Scenarios;
using EQueue.Support;

namespace EQueue.Load.Tests;

public sealed class TopicsTests
{
    [Fact]
    public async Task GivenAFewTopics_WhenTopicsRuns_ThenEachVerbAndTheRestOfTheServerAreMeasured()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "topics", "--topics", "50", "--queues", "3", "--seconds", "0.5", "--warmup", "0.1", "--repeat",
            "1");

        JsonElement row = Assert.Single(rows);
        JsonElement parameters = row.GetProperty("params");
        Assert.Equal(50, parameters.GetProperty("topics").GetInt32());
        Assert.Equal(3, parameters.GetProperty("queues").GetInt32());
        string[] measured =
        [
            "createSeconds", "listSeconds", "describeSeconds", "readySeconds", "watchRssBytes", "reopenedRssBytes",
        ];
        Assert.All(measured, name => Assert.True(row.GetProperty(name).GetDouble() > 0, name));
        Assert.True(row.GetProperty("broker").GetProperty("rssBytes").GetInt64() > 0);
        Assert.InRange(row.GetProperty("broker").GetProperty("cpuPercent").GetDouble(), 0, 1_000);
        Assert.InRange(row.GetProperty("watchCpuPercent").GetDouble(), 0, 1_000);
        foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged" })
            Assert.Equal(0, row.GetProperty(name).GetInt64());
    }

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenADefectOfEachKind_WhenTopicsRuns_ThenItExitsWith3AndTellsNoTime()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.WrongData, "topics", "--inject", "missing,duplicate,reorder", "--topics", "20", "--queues", "1",
            "--seconds", "0.1", "--warmup", "0", "--repeat", "1");

        JsonElement row = rows[0];
        foreach (string name in new[] { "createSeconds", "listSeconds", "describeSeconds", "readySeconds" })
            Assert.Equal(JsonValueKind.Null, row.GetProperty(name).ValueKind);
        IEnumerable<long> wrong =
            new[] { "missing", "duplicated", "reordered" }.Select(name => row.GetProperty(name).GetInt64());
        Assert.Equal([1, 1, 1], wrong);
    }

    [Fact]
    public void GivenATopicWithAnotherNumberOfQueues_WhenListed_ThenItIsDamaged()
    {
        string[] lines = ["{\"topic\":\"a\",\"queueCount\":2}", "{\"topic\":\"b\",\"queues\":[{}]}"];
        Assert.Equal(1, ListedTopics.Judge(lines, ["a", "b"], 2, Faults.None).Damaged);
        Assert.True(ListedTopics.Judge(lines[..1], ["a"], 2, Faults.None).IsRight);
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--size 128")]
    [InlineData("--topics 1")]
    [InlineData("--topics 50001")]
    [InlineData("--topics 50000 --queues 5")]
    [InlineData("--topics 2 --queues 10001")]
    public async Task GivenFlagsThatTopicsDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"topics {flags}");
    }
}
