using System.Text.Json;
using EQueue.Load.Scenarios;

namespace EQueue.Load.Tests;

public sealed class FilterTests
{
    [Theory]
    [InlineData(1, 1_000)]
    [InlineData(1, 123_456)]
    [InlineData(7, 9_999)]
    [InlineData(1_000, 2_500_500)]
    public void GivenATagPlan_WhenCounted_ThenTheWantedTagHasItsShare(int runLength, long messages)
    {
        var plan = new TagPlan(runLength);
        int named = Enumerable.Range(0, (int)messages).Count(sequence => plan.NameOf(sequence) == plan.Wanted);
        Assert.Equal(named, plan.CountWanted(messages));
        Assert.InRange(named, messages / 1_000 - runLength, messages / 1_000 + runLength);
        Assert.Equal(1_000, Enumerable.Range(0, 1_000).Select(run => plan.TagOf((long)run * runLength)).Distinct().Count());
    }

    [Fact]
    public async Task GivenTagsInRunsAndInTurns_WhenFilterRuns_ThenARowEachTellsBytesAndTimeBesideReadingAll()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "filter", "--messages", "400000", "--warmup", "0", "--repeat", "1");

        Assert.Equal([400, 1], rows.Select(row => row.GetProperty("params").GetProperty("tagRun").GetInt32()));
        Assert.All(rows, row =>
        {
            Assert.Equal(400, row.GetProperty("messages").GetInt64());
            foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged" })
                Assert.Equal(0, row.GetProperty(name).GetInt64());
            string[] measured =
                ["sendPerSecond", "consumePerSecond", "fetchedBytes", "readSeconds", "readSecondsOfAll", "fetchedRatio"];
            foreach (string name in measured)
                Assert.True(row.GetProperty(name).GetDouble() > 0, name);
            Assert.True(row.GetProperty("fetchedBytesOfAll").GetInt64() > 400_000 * 128);
            foreach (string name in new[] { "value", "ratio" })
                Assert.True(row.GetProperty("reference").GetProperty(name).GetDouble() > 0, name);
        });
        double[] ratios = rows.Select(row => row.GetProperty("fetchedRatio").GetDouble()).ToArray();
        Assert.True(ratios[0] > 3, $"tags in runs: all is only {ratios[0]} times what one tag needs");
        Assert.Equal(1.0, ratios[1], tolerance: 0.1);
    }

    [Fact]
    public async Task GivenADefectOfEachKind_WhenFilterRuns_ThenItExitsWith3AndGivesNoRate()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.WrongData, "filter", "--inject", "missing,duplicate,reorder", "--messages", "100000", "--warmup",
            "0", "--repeat", "1");

        JsonElement row = rows[0];
        foreach (string name in new[] { "sendPerSecond", "consumePerSecond", "readSeconds", "fetchedRatio" })
            Assert.Equal(JsonValueKind.Null, row.GetProperty(name).ValueKind);
        IEnumerable<long> wrong =
            new[] { "missing", "duplicated", "reordered" }.Select(name => row.GetProperty(name).GetInt64());
        Assert.Equal([1, 1, 1], wrong);
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--in-flight 5")]
    [InlineData("--consumers 2")]
    [InlineData("--seconds 5")]
    [InlineData("--messages 999")]
    public async Task GivenFlagsThatFilterDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"filter {flags}");
    }
}
