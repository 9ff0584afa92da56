namespace EQueue.Remoting;

/// <summary>Thrown by a handshake to say that trying again is of no use: the client stops reconnecting and every call
/// fails.</summary>
public sealed class PermanentFailureException : Exception
{
    /// <summary>Makes the exception.</summary>
    public PermanentFailureException(string message)
        : base(message)
    {
    }

    /// <summary>Makes the exception with its cause.</summary>
    public PermanentFailureException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }
}
