namespace EQueue.Load;

/// <summary>Ends the load program with one of its exit codes and a sentence for the reader.</summary>
internal sealed class LoadException(int exitCode, string message, Exception? inner = null) : Exception(message, inner)
{
    /// <summary>One of <see cref="LoadExit"/>.</summary>
    public int ExitCode { get; } = exitCode;

    public static LoadException Failed(string message, Exception? inner = null) =>
        new(LoadExit.Failed, message, inner);

    public static LoadException Usage(string message) => new(LoadExit.Usage, message);

    public static LoadException WrongData(string message) => new(LoadExit.WrongData, message);

    /// <summary>The machine, not the product, ended the run.</summary>
    /// <param name="limit">What was met: disk, memory, ports...</param>
    public static LoadException MachineLimit(string limit, string message, Exception? inner = null) =>
        new(LoadExit.MachineLimit, $"machine limit met: {limit}: {message}", inner);
}
