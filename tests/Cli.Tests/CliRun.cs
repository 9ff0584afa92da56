using System.Text;

namespace EQueue.Cli.Tests;

/// <summary>A run of the command line within this process.</summary>
internal sealed record CliRun(int ExitCode, byte[] Output, string Error)
{
    public string OutputText => Encoding.UTF8.GetString(Output);

    public string[] OutputLines => OutputText.Split('\n', StringSplitOptions.RemoveEmptyEntries);

    public static Task<CliRun> RunAsync(params string[] arguments) => RunAsync(arguments, []);

    /// <remarks>The contexts of the person who runs the tests are private.</remarks>
    public static Task<CliRun> RunAsync(
        string[] arguments, byte[] input, CancellationToken cancellationToken = default) =>
        RunAsync(arguments, input, _ => null, cancellationToken);

    /// <summary>The same before a person: both outputs are terminals.</summary>
    public static async Task<CliRun> RunOnTerminalAsync(params string[] arguments)
    {
        using var output = new MemoryStream();
        using var error = new StringWriter();
        var streams = new CliStreams(Stream.Null, output, error, IsTerminal: true)
        {
            IsErrorTerminal = true,
            IsInputTerminal = true,
            Variable = _ => null,
        };
        int exitCode = await CliProgram.RunAsync(arguments, streams, CancellationToken.None);
        return new CliRun(exitCode, output.ToArray(), error.ToString());
    }

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
