namespace EQueue.Cli;

/// <summary>
/// Some of what was asked for is done and some is not; the message says how much, the cause says why.
/// </summary>
internal sealed class PartlyDoneException(string message, Exception cause) : Exception(message, cause);
