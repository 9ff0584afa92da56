namespace EQueue.Client;

/// <summary>
/// How long a send waits before it is accepted: the delivery timeout, the caller's token, the producer's end.
/// </summary>
/// <remarks>Of one call, which disposes it.</remarks>
internal sealed class SendPatience : IDisposable
{
    private readonly SendTerms _terms;
    private readonly IAdmission _topic;
    private readonly bool _isKeyed;
    private readonly CancellationToken _callerToken;
    private readonly CancellationTokenSource _timeout;
    private readonly CancellationTokenSource _either;

    public SendPatience(SendTerms terms, IAdmission topic, bool isKeyed, CancellationToken callerToken)
    {
        _terms = terms;
        _topic = topic;
        _isKeyed = isKeyed;
        _callerToken = callerToken;
        _timeout = new CancellationTokenSource(terms.Options.DeliveryTimeout, terms.Time);
        _either = CancellationTokenSource.CreateLinkedTokenSource(_timeout.Token, callerToken, terms.Closing);
    }

    public CancellationToken Token => _either.Token;

    /// <summary>Whether the exception is an outcome that the user is told of.</summary>
    public static bool Covers(Exception exception) => exception is OperationCanceledException or EQueueException;

    /// <summary>The exception for the user.</summary>
    public Exception Explain(Exception exception)
    {
        if (exception is EQueueException { Code: not (ErrorCode.Cancelled or ErrorCode.Disposed) } known)
            return known;
        if (_callerToken.IsCancellationRequested)
            return PublicCall.Anew(Faults.Cancelled(_callerToken));
        if (_terms.Closing.IsCancellationRequested)
            return new ProducerClosedException(mayBeStored: false);
        return _topic.ShortageFor(_isKeyed);
    }

    public void Dispose()
    {
        _either.Dispose();
        _timeout.Dispose();
    }
}
