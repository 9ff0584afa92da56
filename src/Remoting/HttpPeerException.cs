namespace EQueue.Remoting;

/// <summary>The peer answers HTTP: it is another kind of server, or another port of the right one.</summary>
/// <remarks>Waiting does not help. It is found inside the <see cref="RemotingException"/> of calls that fail for
/// it.</remarks>
public sealed class HttpPeerException : Exception
{
    /// <summary>Makes the exception.</summary>
    public HttpPeerException(string message)
        : base(message)
    {
    }

    /// <summary>The exception itself or the cause of it that is one; null = there is none.</summary>
    public static HttpPeerException? FindIn(Exception? exception)
    {
        Exception? cause = exception;
        while (cause is not null and not HttpPeerException)
            cause = cause.InnerException;
        return cause as HttpPeerException;
    }
}
