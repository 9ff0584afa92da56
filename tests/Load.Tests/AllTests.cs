using System.Text.Json;
using EQueue.Load.Scenarios;

namespace EQueue.Load.Tests;

public sealed class AllTests
{
    [Fact]
    public async Task GivenTwoOfTheScenarios_WhenAllRunsQuickly_ThenBothAreInOneReport()
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(
            "all", "--quick", "--part", "limit,topics", "--limit-total", "5", "--json", "all.json", "--report",
            "all.md");

        Assert.True(outcome.ExitCode == LoadExit.Ok, outcome.ToString());
        JsonElement report = program.ReadJson("all.json");
        Assert.Equal("all", report.GetProperty("scenario").GetString());
        Assert.Equal(
            ["limit", "topics"],
            report.GetProperty("rows").EnumerateArray()
                .Select(row => row.GetProperty("params").GetProperty("scenario").GetString()));
        Assert.False(report.TryGetProperty("failures", out _));
        string page = await File.ReadAllTextAsync(program.PathOf("all.md"), TestContext.Current.CancellationToken);
        Assert.StartsWith("# all --quick", page, StringComparison.Ordinal);
        Assert.Contains("## topics", page, StringComparison.Ordinal);
        Assert.Contains("limit MB/s", outcome.Output, StringComparison.Ordinal);
        Assert.Equal(["all.json", "all.md"], program.Leftovers);
    }

    [Fact]
    public async Task GivenScenariosThatFail_WhenAllRuns_ThenTheOthersAreMeasuredAndTheExitCodeIsThatOfWrongData()
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(
            "all", "--quick", "--part", "limit,remoting,topics", "--inject", "missing", "--limit-total", "5",
            "--json", "all.json");

        Assert.True(outcome.ExitCode == LoadExit.WrongData, outcome.ToString());
        JsonElement report = program.ReadJson("all.json");
        Assert.Equal(
            ["remoting", "topics"],
            report.GetProperty("failures").EnumerateArray().Select(each => each.GetString()!.Split(':')[0]));
        JsonElement[] rows = report.GetProperty("rows").EnumerateArray().ToArray();
        Assert.True(rows[0].GetProperty("limitMBps").GetDouble() > 0);
        Assert.Equal(1, rows[^1].GetProperty("missing").GetInt64());
    }

    [Fact]
    public void GivenTheList_WhenAllIsLookedThrough_ThenNoScenarioIsLeftOut()
    {
        string[] names =
            ScenarioList.All.Select(scenario => scenario.Name).Where(name => name != "all").Order().ToArray();

        Assert.Equal(names, AllSteps.Full.Select(step => step.Scenario).Distinct().Order());
        Assert.Equal(names, AllSteps.Quick.Select(step => step.Scenario).Distinct().Order());
    }

    [Theory]
    [InlineData(null, 1)]
    [InlineData(3, 3)]
    public void GivenRepetitions_WhenAllRunsQuickly_ThenEachScenarioIsMeasuredThatOften(int? asked, int expected)
    {
        var options = new LoadOptions { Repeat = asked };

        Assert.All(AllSteps.Quick, step => Assert.Equal(expected, step.Change(options).Repeat));
    }

    [Theory]
    [InlineData(null, null, 5)]
    [InlineData(2, 2, 5)]
    [InlineData(7, 7, 7)]
    public void GivenRepetitions_WhenAllRunsAtLength_ThenRowsThatAreComparedHaveFiveRoundsAtLeast(
        int? asked, int? expected, int compared)
    {
        var options = new LoadOptions { Repeat = asked };

        Assert.All(
            AllSteps.Full,
            step => Assert.Equal(
                step.Title is "throughput" or "remoting" ? compared : expected, step.Change(options).Repeat));
    }

    [Theory]
    [InlineData("all --size 128")]
    [InlineData("all --part everything")]
    [InlineData("limit --quick")]
    public async Task GivenFlagsThatDoNotFit_WhenRun_ThenItExitsWith2AndWritesNothing(string arguments)
    {
        await LoadProgram.DemandRefusalAsync(arguments);
    }
}
