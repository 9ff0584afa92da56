using System.Diagnostics;
using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

public sealed class SeveralBrokersTests
{
    [Fact]
    public async Task GivenTwoBrokers_WhenTopicsLieOverBoth_ThenEveryMessageIsConsumedByItsGroupAndFoundInTheFiles()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "several-brokers", "--part", "produce,through", "--brokers", "2", "--topics", "2", "--queues",
            "3", "--producers", "3", "--consumers", "2", "--messages", "9001", "--warmup", "0", "--repeat", "1");

        Assert.Equal(["produce", "through"], rows.Select(row => Param(row, "part").GetString()));
        Assert.Equal([0, 4], rows.Select(row => Param(row, "consumers").GetInt32()));
        Assert.All(rows, row =>
        {
            Assert.Equal(2, Param(row, "brokers").GetInt32());
            Assert.Equal(4, Param(row, "queues").GetInt32());
            Assert.Equal(9001, row.GetProperty("messages").GetInt64());
            double rate = row.GetProperty("sendPerSecond").GetDouble();
            Assert.Equal(1e6 / rate, row.GetProperty("sendUsPerOperation").GetDouble(), tolerance: 0.001);
            Assert.True(row.GetProperty("bytesWritten").GetInt64() > 9001 * 100);
            foreach (string name in new[] { "missing", "duplicated", "unstored" })
                Assert.Equal(0, row.GetProperty(name).GetInt64());
        });
        Assert.Equal(JsonValueKind.Null, rows[0].GetProperty("consumeUsPerOperation").ValueKind);
        Assert.True(rows[1].GetProperty("consumeUsPerOperation").GetDouble() > 0);
    }

    [Fact]
    public async Task GivenOneBroker_WhenAPairIsMeasured_ThenTheOldFiguresOfBothWaysStandBeside()
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.Ok, "several-brokers", "--part", "single", "--pairs", "1", "--messages", "5000", "--warmup", "0",
            "--repeat", "1");

        JsonElement row = Assert.Single(rows);
        Assert.Equal(200, Param(row, "size").GetInt32());
        JsonElement reference = row.GetProperty("reference");
        Assert.Equal(166_000, reference.GetProperty("value").GetDouble());
        Assert.Equal(432_000, reference.GetProperty("sendPerSecond").GetDouble());
        Assert.Equal(
            row.GetProperty("consumePerSecond").GetDouble() / 166_000, reference.GetProperty("ratio").GetDouble(),
            tolerance: 0.001);
    }

    [Theory]
    [InlineData("produce", "short", "unstored")]
    [InlineData("through", "reorder", "reordered", Traits = [LongRun.Trait, LongRun.Only])]
    public async Task GivenAPlantedDefect_WhenClusterBenchRuns_ThenItExitsWith3AndGivesNoRate(
        string part, string faults, string fault)
    {
        using var program = new LoadProgram();

        JsonElement[] rows = await program.MeasureAsync(
            LoadExit.WrongData, "several-brokers", "--part", part, "--brokers", "2", "--topics", "1", "--queues", "2",
            "--producers", "2", "--consumers", "1", "--messages", "3000", "--warmup", "0", "--repeat", "1", "--inject",
            faults);

        JsonElement row = rows[0];
        Assert.True(row.GetProperty(fault).GetInt64() > 0);
        foreach (string name in new[] { "sendPerSecond", "consumePerSecond", "sendUsPerOperation" })
            Assert.Equal(JsonValueKind.Null, row.GetProperty(name).ValueKind);
    }

    [Fact]
    public async Task GivenRunningBrokers_WhenInterrupted_ThenAllThatWasStartedStopsAndOnlyItsDirectoriesGo()
    {
        CancellationToken cancellationToken = TestContext.Current.CancellationToken;
        using var program = new LoadProgram();
        DirectoryInfo data = Directory.CreateDirectory(program.PathOf("data"));
        await File.WriteAllTextAsync(Path.Combine(data.FullName, "mine"), "x", cancellationToken);
        using Process process = program.Start(
            "several-brokers", "--part", "through", "--brokers", "2", "--topics", "1", "--queues", "2", "--consumers",
            "1", "--messages", "100", "--warmup", "0", "--repeat", "1000", "--data", "data");
        string[] started = Array.Empty<string>();
        await Eventually.TrueAsync(() => (started = ChildrenOf(process.Id)).Length == 4);
        Assert.Equal(2, data.GetFileSystemInfos().Length);

        using var kill = System.Diagnostics.Process.Start("kill", ["-INT", $"{process.Id}"]);
        await kill.WaitForExitAsync(cancellationToken);
        LoadProgram.Outcome outcome = await LoadProgram.FinishAsync(process);

        Assert.True(outcome.ExitCode == LoadExit.Failed, outcome.ToString());
        Assert.Contains("interrupted", outcome.Errors, StringComparison.Ordinal);
        Assert.DoesNotContain(started, Directory.Exists);
        Assert.Equal(["mine"], data.GetFileSystemInfos().Select(each => each.Name));
    }

    [Theory]
    [InlineData("--server 127.0.0.1:1")]
    [InlineData("--part sideways")]
    [InlineData("--brokers 0")]
    [InlineData("--consumers 25")]
    public async Task GivenFlagsThatClusterBenchDoesNotKnow_WhenRun_ThenItExitsWith2(string flags)
    {
        await LoadProgram.DemandRefusalAsync($"several-brokers {flags}");
    }

    /// <summary>The folders in /proc of a process's children.</summary>
    private static string[] ChildrenOf(int processId) =>
        [.. Directory.GetDirectories("/proc").Where(folder => IsChild(folder, processId))];

    private static bool IsChild(string folder, int processId)
    {
        try
        {
            return File.ReadLines(Path.Combine(folder, "status")).Contains($"PPid:\t{processId}");
        }
        catch (IOException)
        {
            // No process, or none any more.
            return false;
        }
    }

    private static JsonElement Param(JsonElement row, string name) => row.GetProperty("params").GetProperty(name);
}
