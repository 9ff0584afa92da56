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

    /// <summary>Looks a variable of the environment up.</summary>
    public Func<string, string?> Variable { get; init; } = Environment.GetEnvironmentVariable;
}
