namespace EQueue.Remoting;

/// <summary>Both ends cannot agree on TLS: a certificate is not trusted, or one of them does not speak it.</summary>
/// <remarks>Waiting does not help, an operator has to change something. It is found inside the
/// <see cref="RemotingException"/> of calls that fail for it.</remarks>
public sealed class TlsRefusedException : Exception
{
    /// <summary>Makes the exception.</summary>
    public TlsRefusedException(string message)
        : base(message)
    {
    }

    /// <summary>Makes the exception with its cause.</summary>
    public TlsRefusedException(string message, Exception? innerException)
        : base(message, innerException)
    {
    }

    /// <summary>The refusal in an exception or its causes, if there is one.</summary>
    public static TlsRefusedException? FindIn(Exception? exception)
    {
        Exception? cause = exception;
        while (cause is not null and not TlsRefusedException)
            cause = cause.InnerException;
        return cause as TlsRefusedException;
    }
}
