namespace EQueue.MessageStore;

/// <summary>A replica refused bytes, a cut or a file: whoever asked for it is wrong, and nothing was changed.</summary>
/// <param name="message">What does not fit.</param>
public sealed class ReplicaException(string message) : Exception(message);
