namespace EQueue.Cli;

/// <summary>What was looked for is not there.</summary>
internal sealed class NothingFoundException(string message) : Exception(message);
