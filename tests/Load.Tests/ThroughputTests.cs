using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

/// <summary>Whole runs: broker, producer and consumer as processes of their own.</summary>
public sealed class ThroughputTests
{
    [Fact]
    public async Task GivenASecondOfLoad_WhenThroughputRuns_ThenAllIsReportedAndNothingIsLeftOnDisk()
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(
            "throughput", "--size", "128", "--seconds", "1", "--warmup", "0.5", "--repeat", "1", "--limit-total", "20",
            "--json", "out.json", "--report", "out.md");

        Assert.True(outcome.ExitCode == LoadExit.Ok, outcome.ToString());
        JsonElement row = program.ReadJson("out.json").GetProperty("rows")[0];
        string[] measured =
        [
            "sendPerSecond", "consumePerSecond", "diskWriteMBps", "limitMBps", "ratioToLimit", "fdatasyncs",
            "processDiskMBps",
        ];
        foreach (string name in measured)
            Assert.True(row.GetProperty(name).GetDouble() > 0, name);
        foreach (string name in new[] { "missing", "duplicated", "reordered", "damaged", "unstored" })
            Assert.Equal(0, row.GetProperty(name).GetInt64());
        foreach (string role in new[] { "broker", "producer", "consumer" })
        {
            Assert.All(
                row.GetProperty(role).EnumerateObject(),
                each => Assert.Equal(JsonValueKind.Number, each.Value.ValueKind));
        }

        Assert.InRange(Ratio(row, "sendNetworkMBps", "sendMBps"), 1, 2);
        Assert.InRange(Ratio(row, "consumeNetworkMBps", "consumeMBps"), 1, 2);
        JsonElement reference = row.GetProperty("reference");
        Assert.Equal(56_400, reference.GetProperty("value").GetDouble());
        Assert.Equal(Ratio(row, "consumePerSecond") / 56_400, Ratio(reference, "ratio"), tolerance: 0.001);
        foreach (string latency in new[] { "ack", "endToEnd" })
            Assert.True(row.GetProperty("latencyUs").GetProperty(latency).GetProperty("p50").GetDouble() > 0, latency);
        Assert.Contains("consume/s", outcome.Output, StringComparison.Ordinal);
        Assert.Equal(["out.json", "out.md"], program.Leftovers);
    }

    /// <summary>A wait of every receive loop, a fetch and what tells of it come with each message here, or nearly so:
    /// what they allocate is seen. Timers and heartbeats allocate by the second.</summary>
    [Fact]
    public async Task GivenOneMessageAtATime_WhenEachIsAwaited_ThenNextToNothingIsAllocatedForIt()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "throughput", "--size", "128", "--in-flight", "1", "--seconds", "2", "--warmup", "2",
            "--repeat", "1", "--no-limit");

        JsonElement row = Assert.Single(rows);
        const int bytesPerSecond = 200_000;
        double most = 40 + (bytesPerSecond / Ratio(row, "consumePerSecond"));
        foreach (string role in new[] { "producer", "consumer", "broker" })
            Assert.InRange(Ratio(row.GetProperty(role), "allocatedBytesPerMessage"), 0, most);
    }

    [Theory]
    [InlineData("message", 1, 1, 1, 16, Traits = [LongRun.Trait, LongRun.Only])]
    [InlineData("message", 2, 2, 3, 301)]
    [InlineData("batch", 1, 1, 1, 16)]
    [InlineData("span", 1, 1, 1, 128)]
    [InlineData("oneway", 1, 1, 1, 23)]
    [InlineData("message", 2, 1, 1, 10, Traits = [LongRun.Trait, LongRun.Only])]
    [InlineData("sync", 2, 1, 1, 24)]
    [InlineData("callback", 1, 2, 1, 1000)]
    public async Task GivenAnApi_WhenACountedNumberIsSent_ThenEveryMessageIsConsumedOnce(
        string api, int producers, int consumers, int topics, int size)
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "throughput", "--api", api, "--producers", $"{producers}", "--consumers", $"{consumers}",
            "--topics", $"{topics}", "--size", $"{size}", "--messages", "20001", "--warmup", "0", "--repeat", "1",
            "--no-limit");

        JsonElement row = rows[0];
        Assert.Equal(20_001, row.GetProperty("messages").GetInt64());
        Assert.True(row.GetProperty("consumePerSecond").GetDouble() > 0);
        Assert.Equal(JsonValueKind.Null, row.GetProperty("limitMBps").ValueKind);
        Assert.Equal("the limit was not asked for", row.GetProperty("notes").GetProperty("ratioToLimit").GetString());
    }

    [Theory]
    [InlineData("missing,duplicate,reorder", 1)]
    [InlineData("short", 0)]
    public async Task GivenAPlantedDefect_WhenThroughputRuns_ThenItExitsWith3AndGivesNoRate(string faults, long wrong)
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(
            "throughput", "--inject", faults, "--size", "128", "--messages", "5000", "--warmup", "0.2", "--repeat", "2",
            "--limit-total", "5", "--json", "out.json", "--report", "out.md");

        Assert.True(outcome.ExitCode == LoadExit.WrongData, outcome.ToString());
        Assert.Contains("wrong data", outcome.Errors, StringComparison.Ordinal);
        Assert.DoesNotContain("/s", outcome.Output + outcome.Errors, StringComparison.Ordinal);
        JsonElement row = program.ReadJson("out.json").GetProperty("rows")[0];
        foreach (string name
            in new[] { "sendPerSecond", "consumePerSecond", "sendMBps", "consumeMBps", "ratioToLimit" })
        {
            Assert.Equal(JsonValueKind.Null, row.GetProperty(name).ValueKind);
        }

        foreach (string name in new[] { "missing", "duplicated", "reordered" })
            Assert.Equal(wrong, row.GetProperty(name).GetInt64());
        Assert.Equal(faults == "short", row.GetProperty("unstored").GetInt64() > 0);
        Assert.Equal(["out.json", "out.md"], program.Leftovers);
    }

    [Theory]
    [InlineData("--consumers 5")]
    [InlineData("--api sync --in-flight 2")]
    [InlineData("--size 4194304 --in-flight 1000")]
    [InlineData("--producers 3 --messages 2")]
    [InlineData("--in-flight 1,2")]
    [InlineData("--pairs 1,2 --producers 1")]
    public async Task GivenFlagsThatDoNotFitTogether_WhenRun_ThenItExitsWith2BeforeAnythingStarts(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"throughput {flags}");
    }

    [Fact]
    public async Task GivenNoServerAtTheAddress_WhenThroughputRuns_ThenItExitsWith1()
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync("throughput", "--server", "127.0.0.1:1", "--no-limit");

        Assert.True(outcome.ExitCode == LoadExit.Failed, outcome.ToString());
        Assert.NotEmpty(outcome.Errors);
    }

    [Fact]
    public async Task GivenSyncFlush_WhenSyncRuns_ThenReceiptsAndFdatasyncsAreReported()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "sync", "--in-flight", "1,100", "--seconds", "0.5", "--warmup", "0.2", "--repeat", "1");

        Assert.Equal([1, 100], rows.Select(row => row.GetProperty("params").GetProperty("inFlight").GetInt32()));
        Assert.All(rows, row =>
        {
            Assert.Equal("sync", row.GetProperty("params").GetProperty("flush").GetString());
            Assert.True(row.GetProperty("sendPerSecond").GetDouble() > 0);
            Assert.True(row.GetProperty("messagesPerFdatasync").GetDouble() > 0);
            Assert.Equal(0, row.GetProperty("missing").GetInt64());
            Assert.Equal(JsonValueKind.Null, row.GetProperty("consumePerSecond").ValueKind);
            Assert.Equal("nothing was consumed", row.GetProperty("notes").GetProperty("consumePerSecond").GetString());
        });
    }

    [Fact]
    public async Task GivenARate_WhenLatencyRuns_ThenEveryMessageIsTimedBesideABareSocket()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "latency", "--rate", "1000", "--seconds", "0.5", "--warmup", "0.2", "--repeat", "1");

        Assert.Equal(["async", "sync"], rows.Select(row => row.GetProperty("params").GetProperty("flush").GetString()));
        Assert.All(rows, row =>
        {
            Assert.Equal(1000, row.GetProperty("params").GetProperty("rate").GetInt32());
            Assert.Equal(500, row.GetProperty("messages").GetInt64());
            foreach (string latency in new[] { "ack", "endToEnd" })
            {
                JsonElement percentiles = row.GetProperty("latencyUs").GetProperty(latency);
                Assert.True(percentiles.GetProperty("p99").GetDouble() > 0, latency);
            }

            Assert.True(row.GetProperty("reference").GetProperty("value").GetDouble() > 0);
        });
    }

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenPairs_WhenThroughputRuns_ThenEachHasARowBesideTheOldFigureOfTheSameCase()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "throughput", "--pairs", "1,2", "--size", "512,600", "--messages", "5000", "--warmup", "0",
            "--repeat", "1", "--no-limit");

        Assert.Equal([1, 2, 1, 2], rows.Select(row => row.GetProperty("params").GetProperty("producers").GetInt32()));
        Assert.Equal([1, 2, 1, 2], rows.Select(row => row.GetProperty("params").GetProperty("consumers").GetInt32()));
        Assert.Equal([41_000, 40_000, null, null], rows.Select(Reference));
        Assert.Equal([false, true, false, true], rows.Select(IsCompared));
        for (int i = 1; i < rows.Length; i += 2)
        {
            double expected = Ratio(rows[i], "consumePerSecond") / Ratio(rows[i - 1], "consumePerSecond");
            Assert.Equal(expected, Ratio(rows[i], "ratioToFirst"), tolerance: 0.001);
        }
    }

    [Fact]
    [Trait(LongRun.Trait, LongRun.Only)]
    public async Task GivenSeveralRounds_WhenPairsAreMeasured_ThenTheyRunByTurnsAndEveryOtherRoundBackwards()
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(
            "throughput", "--pairs", "1,2", "--size", "100", "--messages", "1000", "--warmup", "0", "--repeat", "3",
            "--no-limit");

        Assert.True(outcome.ExitCode == LoadExit.Ok, outcome.ToString());
        IEnumerable<int> places =
            new[] { "1 + 1, ", "2 + 2, ", "2 + 2, ", "1 + 1, ", "1 + 1, ", "2 + 2, " }.Select((pair, i) =>
            outcome.Errors.IndexOf(
                $"100 B, {pair}async flush, 10000 in flight, run {1 + (i / 2)}", StringComparison.Ordinal));
        Assert.DoesNotContain(-1, places);
        Assert.Equal(places.Order(), places);
    }

    [Fact]
    public async Task GivenTheSamePairTwice_WhenThroughputRuns_ThenItIsComparedWithItself()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "throughput", "--pairs", "1,1", "--size", "100", "--messages", "1000", "--warmup", "0",
            "--repeat", "1", "--no-limit");

        Assert.Equal([false, true], rows.Select(IsCompared));
    }

    private static bool IsCompared(JsonElement row) =>
        row.GetProperty("ratioToFirst").ValueKind == JsonValueKind.Number;

    private static double? Reference(JsonElement row)
    {
        JsonElement value = row.GetProperty("reference").GetProperty("value");
        return value.ValueKind == JsonValueKind.Null ? null : value.GetDouble();
    }

    private static double Ratio(JsonElement row, string name, string? to = null) =>
        row.GetProperty(name).GetDouble() / (to is null ? 1 : row.GetProperty(to).GetDouble());
}
