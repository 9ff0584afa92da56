using System.Diagnostics;
using EQueue.Support;

namespace EQueue.Packages.Tests;

/// <summary>Commands that build, run in an environment in which nothing outlives them.</summary>
internal static class Dotnet
{
    /// <summary>A command line for the shell, in the checkout's root.</summary>
    public static ProcessStartInfo Shell(string command, string folder)
    {
        var start = new ProcessStartInfo("/bin/sh", ["-c", command]) { WorkingDirectory = folder };
        Isolate(start.Environment);
        return start;
    }

    /// <summary>Runs a command and gives what it printed; fails with all of it if the command does.</summary>
    public static async Task<string> RunAsync(
        string command, string folder, IReadOnlyDictionary<string, string>? environment = null)
    {
        ProcessStartInfo start = Shell(command + " 2>&1", folder);
        foreach ((string name, string value) in environment ?? new Dictionary<string, string>(StringComparer.Ordinal))
            start.Environment[name] = value;
        ProgramResult result = await ToolRun.RunAsync(start);
        Assert.True(result.ExitCode == 0, $"{command} ended with {result.ExitCode}: {result.OutputText}");
        return result.OutputText;
    }

    /// <summary>Where the packages are that the last restore of the checkout used.</summary>
    public static async Task<string> FindPackagesAsync()
    {
        string line = await RunAsync("dotnet nuget locals global-packages --list", ProgramFiles.Root);
        return line[(line.IndexOf(' ', StringComparison.Ordinal) + 1)..].Trim();
    }

    // A build server that stays would keep the pipes of the test open, and its files.
    private static void Isolate(IDictionary<string, string?> environment)
    {
        environment["MSBUILDDISABLENODEREUSE"] = "1";
        environment["UseSharedCompilation"] = "false";
        environment["DOTNET_NOLOGO"] = "1";
        environment["DOTNET_CLI_TELEMETRY_OPTOUT"] = "1";
    }
}
