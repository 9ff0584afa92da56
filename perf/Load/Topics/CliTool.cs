using System.ComponentModel;
using System.Diagnostics;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;

namespace EQueue.Load.Topics;

/// <summary>The program <c>equeue</c>, run as people run it: a process for each command.</summary>
internal static class CliTool
{
    /// <summary>Runs one command to its end.</summary>
    /// <exception cref="LoadException">It could not be started, or did not end with 0.</exception>
    public static async Task<CliOutcome> RunAsync(
        string server, IEnumerable<string> arguments, CancellationToken cancellationToken)
    {
        var start = BuiltProgram.NewStart("Cli", [.. arguments, "--server", server]);
        var startNs = Clock.NowNs;
        using var process = Start(start);
        try
        {
            var errors = process.StandardError.ReadToEndAsync(cancellationToken);
            var lines = new List<string>();
            while (await process.StandardOutput.ReadLineAsync(cancellationToken) is { } line)
                lines.Add(line);
            await process.WaitForExitAsync(cancellationToken);
            var seconds = (Clock.NowNs - startNs) / 1e9;
            if (process.ExitCode != LoadExit.Ok)
            {
                var command = string.Join(' ', start.ArgumentList.TakeLast(8));
                throw LoadException.Failed($"equeue ended with {process.ExitCode}: {command}\n{await errors}");
            }

            return new CliOutcome(seconds, lines);
        }
        catch (OperationCanceledException)
        {
            process.Kill();
            await process.WaitForExitAsync(CancellationToken.None);
            throw;
        }
    }

    private static Process Start(ProcessStartInfo start)
    {
        try
        {
            return Process.Start(start)!;
        }
        catch (Win32Exception exception)
        {
            throw LoadException.MachineLimit("processes", $"cannot start equeue: {exception.Message}", exception);
        }
    }
}

/// <summary>A command that was carried out.</summary>
/// <param name="Seconds">From the moment before its process was made to its end.</param>
/// <param name="Lines">Of its standard output.</param>
internal sealed record CliOutcome(double Seconds, IReadOnlyList<string> Lines);
