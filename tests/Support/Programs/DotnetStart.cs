using System.Diagnostics;

namespace EQueue.Support;

/// <summary>How a test starts a program of the product.</summary>
public static class DotnetStart
{
    /// <summary>
    /// <c>dotnet</c> with standard output and error redirected. Whatever started the tests, the program hears SIGINT: a
    /// shell without job control lets what it starts in the background ignore it, each process hands that on, and .NET
    /// respects it.
    /// </summary>
    /// <param name="arguments">The program's assembly, then its arguments.</param>
    /// <param name="ignoredSignal">A signal that it ignores, without <c>SIG</c>.</param>
    /// <param name="limit">A limit of prlimit(1), such as <c>nofile=100:100</c>; null = those of the tests.</param>
    public static ProcessStartInfo Of(
        IEnumerable<string> arguments, string? ignoredSignal = null, string? limit = null)
    {
        string[] limited = limit is null ? [] : ["prlimit", $"--{limit}"];
        string[] ignored = ignoredSignal is null ? [] : [$"--ignore-signal={ignoredSignal}"];
        string[] program = OperatingSystem.IsWindows()
            ? ["dotnet", .. arguments]
            : ["env", "--default-signal=INT", .. ignored, .. limited, "dotnet", .. arguments];
        var start = new ProcessStartInfo(program[0], program[1..])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            UseShellExecute = false,
        };

        // A process that runs for a few seconds is mostly busy compiling: quickly here, and without profiles. How
        // programs are compiled that users start is RuntimeSettingsTests' matter.
        start.Environment["DOTNET_TieredCompilation"] = "1";
        start.Environment["DOTNET_TieredPGO"] = "0";
        start.Environment["DOTNET_TC_CallCountingDelayMs"] = "64"; // 100 in hexadecimal, the runtime's own.
        return start;
    }
}
