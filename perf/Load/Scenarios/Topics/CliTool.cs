using System.Diagnostics;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>The program <c>equeue</c>, run as people run it: a process for each command.</summary>
internal static class CliTool
{
    /// <summary>Runs one command to its end.</summary>
    /// <exception cref="LoadException">It could not be started, or did not end with 0.</exception>
    public static async Task<CliOutcome> RunAsync(
        string server, IEnumerable<string> arguments, CancellationToken cancellationToken)
    {
        ProcessStartInfo start = BuiltProgram.NewStart("Cli", [.. arguments, "--server", server]);
        long startNs = Clock.NowNs;
        await using var tool = ChildProcess.Start(start, "equeue");
        var lines = new List<string>();
        while (await tool.Process.StandardOutput.ReadLineAsync(cancellationToken) is { } line)
            lines.Add(line);
        await tool.Process.WaitForExitAsync(cancellationToken);
        double seconds = (Clock.NowNs - startNs) / 1e9;
        if (tool.Process.ExitCode == LoadExit.Ok)
            return new CliOutcome(seconds, lines);
        string command = string.Join(' ', start.ArgumentList.TakeLast(8));
        throw LoadException.Failed($"equeue ended with {tool.Process.ExitCode}: {command}{tool.ErrorText()}");
    }
}

/// <summary>A command that was carried out.</summary>
/// <param name="Seconds">From the moment before its process was made to its end.</param>
/// <param name="Lines">Of its standard output.</param>
internal sealed record CliOutcome(double Seconds, IReadOnlyList<string> Lines);
