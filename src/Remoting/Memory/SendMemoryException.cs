namespace EQueue.Remoting;

/// <summary>A frame that is being written has no room: it is longer than it may be, or the memory for unsent frames is
/// spent.</summary>
public sealed class SendMemoryException : Exception
{
    internal SendMemoryException(string message, bool isTooLong)
        : base(message) => IsTooLong = isTooLong;

    /// <summary>Whether the frame itself is too long; if not, there is room later.</summary>
    public bool IsTooLong { get; }
}
