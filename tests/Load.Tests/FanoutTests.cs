using System.Text.Json;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Support;

namespace EQueue.Load.Tests;

public sealed class FanoutTests
{
    [Theory]
    [InlineData("direct", 3)]
    [InlineData("proxy", 2)]
    public async Task GivenSubscribers_WhenFanoutRuns_ThenEachGetsEveryMessageAndTheCurvesAreWritten(
        string part, int subscribers)
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(
            "fanout", "--part", part, "--consumers", $"{subscribers}", "--size", "1000", "--messages", "3000",
            "--repeat", "1", "--warmup", "0.5", "--json", "fanout.json", "--curves", "curves");

        Assert.True(outcome.ExitCode == LoadExit.Ok, outcome.ToString());
        JsonElement row = Assert.Single(program.ReadJson("fanout.json").GetProperty("rows").EnumerateArray());
        Assert.Equal(subscribers, row.GetProperty("params").GetProperty("subscribers").GetInt32());
        Assert.Equal(3000, row.GetProperty("messages").GetInt64());
        double[] rates =
            row.GetProperty("subscriberPerSecond").EnumerateArray().Select(rate => rate.GetDouble()).ToArray();
        Assert.Equal(subscribers, rates.Length);
        Assert.Equal(rates.Sum(), row.GetProperty("subscribersPerSecond").GetDouble(), tolerance: 1);
        Assert.Equal(rates.Min(), row.GetProperty("consumePerSecond").GetDouble(), tolerance: 1);
        foreach (string way in new[] { "send", "receive" })
        {
            double windowed = row.GetProperty($"{way}WindowPerSecond").GetDouble();
            Assert.True(windowed > 0);
            Assert.Equal(
                windowed * 8000 / 1e6, row.GetProperty($"{way}MegabitsPerSecond").GetDouble(), tolerance: 0.01);
        }

        foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged" })
            Assert.Equal(0, row.GetProperty(name).GetInt64());
        Assert.Equal(["curves", "fanout.json"], program.Leftovers);
        string[] each = await File.ReadAllLinesAsync(
            program.PathOf($"curves/fanout-{part}-each.dat"), TestContext.Current.CancellationToken);
        Assert.Equal(1 + subscribers, each.Length);
        Assert.Contains($"fanout-{part}.gnuplot", Names(program.PathOf("curves")));
        Assert.Contains($"fanout-{part}-megabits.dat", Names(program.PathOf("curves")));
    }

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenAPlantedDefect_WhenFanoutRuns_ThenItExitsWith3AndGivesNoRate()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.WrongData, "fanout", "--part", "direct", "--consumers", "2", "--messages", "1000", "--repeat", "1",
            "--warmup", "0.5", "--inject", "duplicate");

        JsonElement row = rows[0];
        Assert.Equal(1, row.GetProperty("duplicated").GetInt64());
        foreach (string name in new[] { "consumePerSecond", "sendWindowPerSecond", "subscriberPerSecond" })
            Assert.Equal(JsonValueKind.Null, row.GetProperty(name).ValueKind);
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--part sideways")]
    [InlineData("--seconds 1")]
    public async Task GivenFlagsThatFanoutDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"fanout {flags}");
    }

    [Fact]
    public void GivenMoreMessagesThanAWindow_WhenTheMedianIsTaken_ThenItIsTheLowerOfTwo()
    {
        var rates = new WindowRates();
        for (int n = 0; n < WindowRates.Window; n++)
            rates.Record(n);
        Assert.Null(rates.MedianPerSecond());

        rates.Record(200);
        rates.Record(401);

        // Two windows: 100 messages in 200 ns, and in 400 ns.
        Assert.Equal(100 * 1e9 / 400, rates.MedianPerSecond());
    }

    [Fact]
    public void GivenPointsThatWereNotMeasured_WhenACurveIsWritten_ThenTheyAreLeftToGnuplot()
    {
        var curve = new Curve("name", "title", "x", "y", ["a", "b"], [[1, 2.5, null], [2, 3, 4]]);

        Assert.Equal("# x\ta\tb\n1\t2.5\tNaN\n2\t3\t4\n", curve.ToTable());
        string script = curve.ToScript();
        Assert.Contains("plot 'name.dat' using 1:2 with linespoints title 'a'", script, StringComparison.Ordinal);
        Assert.Contains("'name.dat' using 1:3 with linespoints title 'b'", script, StringComparison.Ordinal);
    }

    private static IEnumerable<string?> Names(string directory) =>
        Directory.GetFileSystemEntries(directory).Select(Path.GetFileName).Order();
}
