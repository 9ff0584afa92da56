namespace EQueue.MessageStore;

/// <summary>A replica refused bytes, a cut or a file: its caller is wrong, and nothing was changed.</summary>
/// <param name="message">What does not fit.</param>
public sealed class ReplicaException(string message) : Exception(message)
{
    /// <summary>The file of this log because of which another one is refused, and is again for as long as it is there;
    /// null = none is.</summary>
    public string? InTheWay { get; init; }
}
