using System.Text;

namespace EQueue.Cli.Tests;

/// <summary>A run of the command line within this process.</summary>
internal sealed record CliRun(int ExitCode, byte[] Output, string Error)
{
    public string OutputText => Encoding.UTF8.GetString(Output);

    public string[] OutputLines => OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries);

    public static Task<CliRun> RunAsync(params string[] arguments) => RunAsync(arguments, []);

    public static async Task<CliRun> RunAsync(
        string[] arguments, byte[] input, CancellationToken cancellationToken = default)
    {
        using var output = new MemoryStream();
        using var error = new StringWriter();
        var streams = new CliStreams(new MemoryStream(input), output, error, IsTerminal: false);
        int exitCode = await CliProgram.RunAsync(arguments, streams, cancellationToken);
        return new CliRun(exitCode, output.ToArray(), error.ToString());
    }
}
