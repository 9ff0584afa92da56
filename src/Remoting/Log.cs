using System.Net;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting;

/// <summary>Everything remoting logs; ids 1000..1999.</summary>
internal static partial class Log
{
    [LoggerMessage(1000, LogLevel.Information, "Listening on {EndPoint}.")]
    public static partial void Listening(ILogger logger, EndPoint endPoint);

    [LoggerMessage(1001, LogLevel.Information, "Stopped listening on {EndPoint}; {Count} connections were closed.")]
    public static partial void Stopped(ILogger logger, EndPoint endPoint, int count);

    [LoggerMessage(1002, LogLevel.Warning, "Accepting on {EndPoint} failed; trying again.")]
    public static partial void AcceptFailed(ILogger logger, EndPoint endPoint, Exception exception);

    [LoggerMessage(1003, LogLevel.Warning, "All {MaxConnections} connections are in use; {Refused} more were refused.")]
    public static partial void ConnectionRefused(ILogger logger, int maxConnections, int refused);

    [LoggerMessage(1004, LogLevel.Warning, "Connection {Id} from {EndPoint} is closed: {Reason}")]
    public static partial void BadFrame(ILogger logger, long id, EndPoint endPoint, string reason);

    [LoggerMessage(1005, LogLevel.Error, "The handler of connection {Id} from {EndPoint} failed; it is closed.")]
    public static partial void HandlerFailed(ILogger logger, long id, EndPoint endPoint, Exception exception);

    [LoggerMessage(1006, LogLevel.Warning,
        "Connection {Id} from {EndPoint} is closed: it took nothing for {Stalled}, {QueuedBytes} bytes wait for it.")]
    public static partial void PeerStalled(
        ILogger logger, long id, EndPoint endPoint, TimeSpan stalled, int queuedBytes);

    [LoggerMessage(1007, LogLevel.Information, "Connection {Id} from {EndPoint} is closed: silent for {Silent}.")]
    public static partial void PeerSilent(ILogger logger, long id, EndPoint endPoint, TimeSpan silent);

    [LoggerMessage(1008, LogLevel.Warning, "Requests were still unanswered after {Drain}; their connections are cut.")]
    public static partial void DrainTimedOut(ILogger logger, TimeSpan drain);

    [LoggerMessage(1009, LogLevel.Error, "The receive loop of connection {Id} from {EndPoint} failed; it is closed.")]
    public static partial void LoopFailed(ILogger logger, long id, EndPoint endPoint, Exception exception);

    [LoggerMessage(1010, LogLevel.Warning,
        "Connection {Id} from {EndPoint} is closed: a frame that it began was not whole after {Timeout}.")]
    public static partial void FrameTooSlow(ILogger logger, long id, EndPoint endPoint, TimeSpan timeout);

    [LoggerMessage(1011, LogLevel.Warning, "The TLS handshake of connection {Id} from {EndPoint} failed: {Reason}.")]
    public static partial void HandshakeFailed(ILogger logger, long id, EndPoint endPoint, string reason);

    [LoggerMessage(1012, LogLevel.Information, "The certificate of {Subject} holds from now on, until {ExpiresAt:u}.")]
    public static partial void CertificateRead(ILogger logger, string subject, DateTime expiresAt);

    [LoggerMessage(1013, LogLevel.Warning, "The former certificate stays, the changed files cannot be used: {Reason}")]
    public static partial void CertificateKept(ILogger logger, string reason);

    [LoggerMessage(1020, LogLevel.Information, "Connected to {EndPoint} (connection {Generation}).")]
    public static partial void Connected(ILogger logger, string endPoint, long generation);

    [LoggerMessage(1021, LogLevel.Warning, "The connection to {EndPoint} is lost; reconnecting: {Reason}")]
    public static partial void ConnectionLost(ILogger logger, string endPoint, string reason);

    [LoggerMessage(1022, LogLevel.Warning, "{EndPoint} cannot be reached; trying on: {Reason}")]
    public static partial void Unreachable(ILogger logger, string endPoint, string reason);

    [LoggerMessage(1023, LogLevel.Debug, "Attempt {Attempt} to reach {EndPoint} failed: {Reason}")]
    public static partial void AttemptFailed(ILogger logger, int attempt, string endPoint, string reason);

    [LoggerMessage(1024, LogLevel.Error, "{EndPoint} refuses this client for good: {Reason}")]
    public static partial void RefusedForGood(ILogger logger, string endPoint, string reason);

    [LoggerMessage(1025, LogLevel.Error, "A response sink of {EndPoint} threw; sinks must not throw.")]
    public static partial void SinkFailed(ILogger logger, string endPoint, Exception exception);
}
