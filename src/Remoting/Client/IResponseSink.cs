namespace EQueue.Remoting;

/// <summary>Receives the outcome of calls in callback form.</summary>
/// <remarks>
/// For each call exactly one of the two is called, of an <see cref="IAnswersSink"/> perhaps the first more than once:
/// on the connection's receive loop, on a timer's thread, or on the calling thread before <c>Invoke</c> returns. Must
/// not block and must not throw.
/// </remarks>
public interface IResponseSink
{
    /// <summary>The answer came. The sink owns the lease and disposes it once.</summary>
    void OnResponse(long token, ResponseFrame response);

    /// <summary>The call failed.</summary>
    void OnFailure(long token, RemotingException exception);
}
