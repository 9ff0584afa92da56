namespace EQueue.Remoting;

/// <summary>The exceptions of failed calls, each with its facts.</summary>
internal static class Failures
{
    public static RemotingException Cancelled(CancellationToken cancellationToken) => new(
        RemotingError.Cancelled, "The call was cancelled.", new OperationCanceledException(cancellationToken));

    public static RemotingException TimedOut(string what) => new(RemotingError.Timeout, $"Timed out: {what}.");

    public static RemotingException Disposed() => new(RemotingError.Disposed, "The remoting client was disposed.");

    public static RemotingException ConnectionLost(object endPoint, Exception? cause) => new(
        RemotingError.ConnectionLost, $"The connection to {endPoint} was lost.", cause);

    public static RemotingException Unreachable(object endPoint, Exception? cause) => new(
        RemotingError.Unreachable, $"{endPoint} cannot be reached: {ConnectFault.Of(cause, 0).Reason}.", cause);

    public static RemotingException TooLarge(int bytes, int maxBytes) => new(
        RemotingError.TooLarge, $"A frame of {bytes} bytes exceeds the maximum of {maxBytes}.");
}
