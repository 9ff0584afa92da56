using System.Diagnostics;

namespace EQueue.Support;

/// <summary>A tool of the system, run to its end.</summary>
public static class ToolRun
{
    /// <summary>Whether it stands in a folder of PATH.</summary>
    public static bool IsInstalled(string tool) => (Environment.GetEnvironmentVariable("PATH") ?? "")
        .Split(Path.PathSeparator).Any(folder => File.Exists(Path.Combine(folder, tool)));

    public static Task<ProgramResult> RunAsync(string tool, params string[] arguments) =>
        RunAsync(new ProcessStartInfo(tool, arguments));

    /// <summary>The same in a folder and an environment of its own.</summary>
    public static async Task<ProgramResult> RunAsync(ProcessStartInfo start)
    {
        start.UseShellExecute = false;
        start.RedirectStandardOutput = true;
        start.RedirectStandardError = true;
        using Process process = Process.Start(start)!;
        var output = new MemoryStream();
        Task copy = process.StandardOutput.BaseStream.CopyToAsync(output);
        string error = await process.StandardError.ReadToEndAsync();
        await copy;
        await process.WaitForExitAsync();
        return new ProgramResult(process.ExitCode, output.ToArray(), error);
    }
}
