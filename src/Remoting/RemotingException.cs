namespace EQueue.Remoting;

/// <summary>A remoting call failed.</summary>
public sealed class RemotingException : Exception
{
    /// <summary>Makes the exception of <paramref name="error"/>.</summary>
    public RemotingException(RemotingError error, string message)
        : base(message) => Error = error;

    /// <summary>Makes the exception of <paramref name="error"/> with its cause.</summary>
    public RemotingException(RemotingError error, string message, Exception? innerException)
        : base(message, innerException) => Error = error;

    /// <summary>What went wrong.</summary>
    public RemotingError Error { get; }
}
