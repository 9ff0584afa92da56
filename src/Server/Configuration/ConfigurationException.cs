namespace EQueue.Server.Configuration;

/// <summary>A setting cannot be used; the message names it, its value and what is allowed.</summary>
internal sealed class ConfigurationException(string message, Exception? innerException = null)
    : Exception(message, innerException);
