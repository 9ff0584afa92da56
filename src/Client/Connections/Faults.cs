using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Client;

/// <summary>Turns what remoting and brokers report into the one exception that users see.</summary>
internal static class Faults
{
    /// <summary>What a failed call means.</summary>
    /// <param name="exception">What remoting reports.</param>
    /// <param name="address">Of the broker.</param>
    public static EQueueException From(RemotingException exception, ServerAddress address)
    {
        if (HttpPeerException.FindIn(exception) is not null)
            return new EQueueException(ErrorCode.NotABroker, $"{address}: {ServerAddress.HttpReason}.", exception);
        for (Exception? cause = exception; cause is not null; cause = cause.InnerException)
        {
            if (cause is EQueueException known)
                return new EQueueException(known.Code, known.Message, exception) { RetryAfter = known.RetryAfter };
        }

        return TlsRefusedException.FindIn(exception) is { } refusal
            ? new EQueueException(ErrorCode.AuthenticationFailed, refusal.Message, exception)
            : new EQueueException(CodeOf(exception.Error), exception.Message, exception);
    }

    /// <summary>What an answer with an error says.</summary>
    public static EQueueException From(in ResponseFrame response) =>
        ErrorDetail.ToException((ErrorCode)response.Header.Error, response.PayloadSpan);

    public static EQueueException Malformed(Opcode opcode, string address) =>
        new(ErrorCode.InternalError, $"The answer of {address} to {opcode} does not follow the protocol.");

    /// <summary>Credentials are not for a connection that others can listen to.</summary>
    public static EQueueException Unprotected(ServerAddress address) => new(
        ErrorCode.AuthenticationFailed,
        $"{address} is another machine and the connection has no TLS: the credentials were not used, for others could "
        + "listen. Set ClientOptions.Tls, and TLS at the broker.");

    /// <summary>The broker is older than logging in.</summary>
    public static EQueueException KnowsNoCredentials(ServerAddress address, EQueueException refusal) => new(
        ErrorCode.UnsupportedVersion,
        $"{address} does not know credentials: its broker is older than this client. Update it, or leave "
        + $"ClientOptions.Credentials out to be served as it serves all. It says: {refusal.Message}",
        refusal);

    public static EQueueException Unordered(string before, string name) => new(
        ErrorCode.InternalError,
        $"The broker lists '{name}' behind '{before}': its pages are not in order and would never end.");

    public static EQueueException Cancelled(CancellationToken cancellationToken) => new(
        ErrorCode.Cancelled, "The caller gave up.", new OperationCanceledException(cancellationToken));

    public static EQueueException Disposed(string what) => new(ErrorCode.Disposed, $"The {what} was disposed.");

    /// <summary>A producer ended before a message was acknowledged.</summary>
    public static EQueueException Closed(bool mayBeStored)
    {
        var closed = new ProducerClosedException(mayBeStored);
        return new EQueueException(ErrorCode.Disposed, closed.Message, closed);
    }

    private static ErrorCode CodeOf(RemotingError error) => error switch
    {
        RemotingError.ConnectionLost => ErrorCode.ConnectionLost,
        RemotingError.Unreachable => ErrorCode.Unreachable,
        RemotingError.Timeout => ErrorCode.Timeout,
        RemotingError.Cancelled => ErrorCode.Cancelled,
        RemotingError.Disposed => ErrorCode.Disposed,
        RemotingError.TooLarge => ErrorCode.MessageTooLarge,
        _ => ErrorCode.ConnectionLost,
    };
}
