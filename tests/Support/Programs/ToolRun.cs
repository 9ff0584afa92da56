using System.Diagnostics;

namespace EQueue.Support;

/// <summary>A tool of the system, run to its end.</summary>
public static class ToolRun
{
    public static async Task<ProgramResult> RunAsync(string tool, params string[] arguments)
    {
        var start = new ProcessStartInfo(tool, arguments)
        {
            UseShellExecute = false,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        using Process process = Process.Start(start)!;
        var output = new MemoryStream();
        Task copy = process.StandardOutput.BaseStream.CopyToAsync(output);
        string error = await process.StandardError.ReadToEndAsync();
        await copy;
        await process.WaitForExitAsync();
        return new ProgramResult(process.ExitCode, output.ToArray(), error);
    }
}
