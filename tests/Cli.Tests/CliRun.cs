using System.Text;

namespace EQueue.Cli.Tests;

/// <summary>A run of the command line within this process.</summary>
internal sealed record CliRun(int ExitCode, byte[] Output, string Error)
{
    public string OutputText => Encoding.UTF8.GetString(Output);

    public string[] OutputLines => OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries);

    public static Task<CliRun> RunAsync(params string[] arguments) => RunAsync(arguments, []);

    /// <remarks>The contexts of whoever runs the tests are nobody's business.</remarks>
    public static Task<CliRun> RunAsync(
        string[] arguments, byte[] input, CancellationToken cancellationToken = default) =>
        RunAsync(arguments, input, _ => null, cancellationToken);

    public static async Task<CliRun> RunAsync(
        string[] arguments, byte[] input, Func<string, string?> variable, CancellationToken cancellationToken)
    {
        using var output = new MemoryStream();
        using var error = new StringWriter();
        var streams = new CliStreams(new MemoryStream(input), output, error, IsTerminal: false)
        {
            Variable = variable,
        };
        int exitCode = await CliProgram.RunAsync(arguments, streams, cancellationToken);
        return new CliRun(exitCode, output.ToArray(), error.ToString());
    }
}
