namespace EQueue.Cli;

/// <summary>The command was asked for something that it cannot be; the message says what is expected.</summary>
internal sealed class UsageException(string message) : Exception(message);
