using EQueue.Cli.Output;

namespace EQueue.Cli;

/// <summary>Where a command reads and writes: results on output, everything else on error.</summary>
/// <param name="Input">Lines to send, with <c>--lines -</c>.</param>
/// <param name="Output">Results as bytes.</param>
/// <param name="Error">Errors and remarks for people.</param>
/// <param name="IsTerminal">Whether a person reads the output directly.</param>
internal sealed record CliStreams(Stream Input, Stream Output, TextWriter Error, bool IsTerminal)
{
    /// <summary>Whether a person reads the errors and remarks directly.</summary>
    public bool IsErrorTerminal { get; init; }

    /// <summary>Whether a person types the input.</summary>
    public bool IsInputTerminal { get; init; }

    /// <summary>Characters in a line of the terminal.</summary>
    public int Width { get; init; } = 120;

    /// <summary>The output past the escapes of a terminal: for the exact bytes of a body, and for the command's own
    /// control sequences.</summary>
    public Stream ExactOutput { get; init; } = Output;

    /// <summary>The error stream past the escapes: for the command's own control sequences.</summary>
    public TextWriter ExactError { get; init; } = Error;

    /// <summary>Tells without writing that the reader of the output has gone.</summary>
    public Func<bool> IsReaderGone { get; init; } = static () => false;

    /// <summary>Asks a person for a password, which the terminal does not show; only where a person types the
    /// input.</summary>
    public Func<string, string> AskSecret { get; init; } =
        static _ => throw new UsageException("There is no terminal to ask for the password.");

    /// <summary>Looks a variable of the environment up.</summary>
    public Func<string, string?> Variable { get; init; } = Environment.GetEnvironmentVariable;

    /// <summary>The same ends as every command must use them: results notice when their reader has gone, and what
    /// goes to a terminal is escaped.</summary>
    public CliStreams Guard()
    {
        var results = new ResultStream(Output);
        return this with
        {
            Output = IsTerminal ? new TerminalStream(results) : results,
            ExactOutput = results,
            Error = new RemarkWriter(Error),
            ExactError = Error,
        };
    }
}
