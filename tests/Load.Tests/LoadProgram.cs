using System.Diagnostics;
using System.Text.Json;
using EQueue.Support;

namespace EQueue.Load.Tests;

/// <summary>Runs the real load program as a process, in a directory of its own that is removed afterwards.</summary>
internal sealed class LoadProgram : IDisposable
{
    /// <summary>Far beyond what a test takes on a machine that does much else.</summary>
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(5);

    public LoadProgram() => WorkingDirectory = Directory.CreateTempSubdirectory("equeue-load-tests-").FullName;

    public string WorkingDirectory { get; }

    /// <summary>Names of what is in the working directory.</summary>
    public IEnumerable<string?> Leftovers =>
        Directory.GetFileSystemEntries(WorkingDirectory).Select(Path.GetFileName).Order();

    public string PathOf(string file) => Path.Combine(WorkingDirectory, file);

    public Process Start(params string[] arguments)
    {
        string program = Path.Combine(AppContext.BaseDirectory, "EQueue.Load.dll");
        ProcessStartInfo start = DotnetStart.Of([program, .. arguments]);
        start.WorkingDirectory = WorkingDirectory;
        return Process.Start(start)!;
    }

    public async Task<Outcome> RunAsync(params string[] arguments)
    {
        using Process process = Start(arguments);
        return await FinishAsync(process);
    }

    /// <summary>Runs to an expected end, behind which it leaves nothing but its report, and gives the report's
    /// rows.</summary>
    public async Task<JsonElement[]> MeasureAsync(int exitCode, params string[] arguments)
    {
        const string file = "report.json";
        string?[] expected = [.. Leftovers.Append(file).Order()];
        Outcome outcome = await RunAsync([.. arguments, "--json", file]);
        Assert.True(outcome.ExitCode == exitCode, outcome.ToString());
        Assert.Equal(expected, Leftovers);
        return [.. ReadJson(file).GetProperty("rows").EnumerateArray()];
    }

    /// <summary>Demands that a command line is refused before anything is written. Nothing is started, so no process is
    /// needed.</summary>
    public static async Task DemandRefusalAsync(string commandLine)
    {
        Assert.Equal(LoadExit.Usage, await LoadCommand.RunAsync(commandLine.Split(' ')));
        Assert.False(Path.Exists($"data-load-{Environment.ProcessId}"));
    }

    /// <summary>Waits for the end, and kills the program when the end does not come.</summary>
    /// <exception cref="TimeoutException">It did not; the message says what was printed.</exception>
    public static async Task<Outcome> FinishAsync(Process process)
    {
        using var timeout = CancellationTokenSource.CreateLinkedTokenSource(TestContext.Current.CancellationToken);
        timeout.CancelAfter(Deadline);
        Task<string> output = process.StandardOutput.ReadToEndAsync(CancellationToken.None);
        Task<string> errors = process.StandardError.ReadToEndAsync(CancellationToken.None);
        try
        {
            await process.WaitForExitAsync(timeout.Token);
        }
        catch (OperationCanceledException exception)
        {
            process.Kill(entireProcessTree: true);
            throw new TimeoutException($"no end within {Deadline}\n{await output}\n{await errors}", exception);
        }

        return new Outcome(process.ExitCode, await output, await errors);
    }

    public JsonElement ReadJson(string file)
    {
        using var document = JsonDocument.Parse(File.ReadAllText(PathOf(file)));
        return document.RootElement.Clone();
    }

    public void Dispose() => Directory.Delete(WorkingDirectory, recursive: true);

    internal sealed record Outcome(int ExitCode, string Output, string Errors)
    {
        public override string ToString() => $"exit {ExitCode}\n{Output}\n{Errors}";
    }
}
