using System.Net.Sockets;

namespace EQueue.Remoting;

/// <summary>Why an attempt to connect failed.</summary>
/// <param name="Reason">In a few words for people, without a full stop: connection refused, no such host.</param>
/// <param name="Cause">What the system reported.</param>
/// <param name="Attempts">Attempts that failed in a row, this one included; 0 = the last connection was lost.</param>
public sealed record ConnectFault(string Reason, Exception? Cause, int Attempts)
{
    /// <summary>Tells the reason out of an exception.</summary>
    internal static ConnectFault Of(Exception? cause, int attempts) => new(ReasonOf(cause), cause, attempts);

    private static string ReasonOf(Exception? exception)
    {
        if (TlsRefusedException.FindIn(exception) is { } refusal)
            return Sentence(refusal.Message);
        if (HttpPeerException.FindIn(exception) is { } http)
            return Sentence(http.Message);
        for (Exception? cause = exception; cause is not null; cause = cause.InnerException)
        {
            if (cause is SocketException socket)
                return ReasonOf(socket);
            if (cause is not RemotingException { Error: RemotingError.ConnectionLost })
                return Sentence(cause.Message);
        }

        return "the peer closed the connection";
    }

    private static string ReasonOf(SocketException exception) => exception.SocketErrorCode switch
    {
        SocketError.ConnectionRefused => "connection refused",
        SocketError.HostNotFound or SocketError.NoData => "no such host",
        SocketError.TryAgain => "the name could not be looked up",
        SocketError.HostUnreachable or SocketError.HostDown => "no route to the host",
        SocketError.NetworkUnreachable or SocketError.NetworkDown => "the network is unreachable",
        SocketError.ConnectionReset => "the peer reset the connection",
        SocketError.AccessDenied => "permission denied",
        _ => Sentence(exception.Message),
    };

    private static string Sentence(string text) => text.TrimEnd('.', ' ');
}
