using System.Diagnostics;
using System.Text.Json;

namespace EQueue.Load.Tests;

public sealed class LimitTests
{
    [Fact]
    public async Task GivenASmallVolume_WhenTheLimitRuns_ThenItIsReportedAndNothingIsLeftOnDisk()
    {
        using var program = new LoadProgram();

        LoadProgram.Outcome outcome = await program.RunAsync(
            "limit", "--limit-total", "20", "--repeat", "2", "--json", "limit.json", "--report", "limit.md");

        Assert.True(outcome.ExitCode == LoadExit.Ok, outcome.ToString());
        JsonElement row = program.ReadJson("limit.json").GetProperty("rows")[0];
        Assert.True(row.GetProperty("limitMBps").GetDouble() > 0);
        Assert.Equal(2, row.GetProperty("runs").GetArrayLength());
        Assert.Contains("limit MB/s", await File.ReadAllTextAsync(
            program.PathOf("limit.md"), TestContext.Current.CancellationToken), StringComparison.Ordinal);
        Assert.Equal(["limit.json", "limit.md"], program.Leftovers);
    }

    [Fact]
    public async Task GivenADataDirectoryWithFiles_WhenTheLimitRunsInIt_ThenTheFilesStay()
    {
        using var program = new LoadProgram();
        DirectoryInfo data = Directory.CreateDirectory(program.PathOf("data"));
        await File.WriteAllTextAsync(Path.Combine(data.FullName, "mine"), "x", TestContext.Current.CancellationToken);

        LoadProgram.Outcome outcome =
            await program.RunAsync("limit", "--limit-total", "1", "--repeat", "1", "--data", "data");

        Assert.True(outcome.ExitCode == LoadExit.Ok, outcome.ToString());
        Assert.Equal(["mine"], data.GetFileSystemInfos().Select(each => each.Name));
    }

    [Fact]
    public async Task GivenARunningLimit_WhenTerminated_ThenItStopsItsProcessesAndRemovesItsDirectory()
    {
        using var program = new LoadProgram();
        using Process process = program.Start("limit", "--limit-total", "1", "--repeat", "1000");
        string? first = await process.StandardError.ReadLineAsync(TestContext.Current.CancellationToken);
        Assert.StartsWith("limit run 1", first, StringComparison.Ordinal);

        using var kill = System.Diagnostics.Process.Start("kill", ["-TERM", process.Id.ToString()]);
        await kill.WaitForExitAsync(TestContext.Current.CancellationToken);
        LoadProgram.Outcome outcome = await LoadProgram.FinishAsync(process);

        Assert.True(outcome.ExitCode == LoadExit.Failed, outcome.ToString());
        Assert.Contains("interrupted", outcome.Errors, StringComparison.Ordinal);
        Assert.Empty(program.Leftovers);
    }
}
