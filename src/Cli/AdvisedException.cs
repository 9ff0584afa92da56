namespace EQueue.Cli;

/// <summary>A failure that names what a person can do about it.</summary>
/// <param name="exitCode">One of <see cref="Cli.ExitCode"/>.</param>
/// <param name="message">The facts.</param>
/// <param name="next">What to do next: a command that it names changes nothing.</param>
internal sealed class AdvisedException(int exitCode, string message, string next) : Exception(message)
{
    /// <summary>What the command ends with.</summary>
    public int ExitCode => exitCode;

    /// <summary>What to do next.</summary>
    public string Next => next;
}
