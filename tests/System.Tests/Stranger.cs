using System.Diagnostics;

namespace EQueue.System.Tests;

/// <summary>A process of another user of the machine.</summary>
internal static class Stranger
{
    public const uint User = 65534;

    /// <summary>Runs a Python script as that user.</summary>
    /// <returns>The lines that it printed.</returns>
    public static async Task<string[]> RunAsync(string script, IEnumerable<string> lines, params string[] arguments)
    {
        Assert.SkipUnless(
            OperatingSystem.IsLinux() && Environment.IsPrivilegedProcess,
            "Only root starts a process of another user, and only Linux tells users of sockets.");
        string python = File.Exists("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
        var start = new ProcessStartInfo(
            "setpriv", [$"--reuid={User}", $"--regid={User}", "--clear-groups", python, "-c", script, .. arguments])
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            WorkingDirectory = "/",
        };
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        foreach (string line in lines) await process.StandardInput.WriteLineAsync(line);
        process.StandardInput.Close();
        return (await output.WaitAsync(TimeSpan.FromSeconds(60))).Split('\n', StringSplitOptions.RemoveEmptyEntries);
    }
}
