using System.ComponentModel;
using System.Diagnostics;

namespace EQueue.Server.Services;

/// <summary>What installing a service asks of the machine beside its files.</summary>
internal sealed record ServiceMachine
{
    private const string RunningMark = "/run/systemd/system";

    /// <summary>Whether this process may change the machine.</summary>
    public bool HasRights { get; init; } = Environment.IsPrivilegedProcess;

    /// <summary>Whether systemd is what runs this machine: sd_booted(3).</summary>
    public bool RunsSystemd { get; init; } = Directory.Exists(RunningMark);

    /// <summary>The program and what stands before its options, for the unit.</summary>
    public IReadOnlyList<string> Program { get; init; } = FindProgram();

    /// <summary>Runs a program to its end: its exit code, and what it wrote on either output.</summary>
    public Func<string[], Task<(int ExitCode, string Output)>> RunAsync { get; init; } = RunProcessAsync;

    private static string[] FindProgram()
    {
        string path = Environment.ProcessPath ?? throw new InvalidOperationException("This process has no path.");
        return Path.GetFileNameWithoutExtension(path) == "dotnet"
            ? [path, Path.Combine(AppContext.BaseDirectory, "EQueue.Server.dll")] : [path];
    }

    private static async Task<(int ExitCode, string Output)> RunProcessAsync(string[] command)
    {
        var start = new ProcessStartInfo(command[0], command[1..])
        {
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        try
        {
            using Process process = Process.Start(start)!;
            Task<string> error = process.StandardError.ReadToEndAsync();
            string output = await process.StandardOutput.ReadToEndAsync();
            await process.WaitForExitAsync();
            return (process.ExitCode, (output + await error).Trim());
        }
        catch (Win32Exception exception)
        {
            return (-1, exception.Message);
        }
    }
}
