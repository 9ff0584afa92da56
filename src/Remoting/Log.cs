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

    [LoggerMessage(1003, LogLevel.Warning, "All {MaxConnections} connections are in use; {EndPoint} was refused.")]
    public static partial void ConnectionRefused(ILogger logger, int maxConnections, EndPoint endPoint);

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

    [LoggerMessage(1100, LogLevel.Warning,
        "Connection {Id} from {EndPoint} is closed: it did not say who it is within {Timeout}.")]
    public static partial void NotAdmitted(ILogger logger, long id, EndPoint endPoint, TimeSpan timeout);

    [LoggerMessage(1101, LogLevel.Warning,
        "{EndPoint} was refused: its address has {Connections} of {MaxConnections} connections, as many as it may.")]
    public static partial void AddressRefused(ILogger logger, EndPoint endPoint, int connections, int maxConnections);

    [LoggerMessage(1102, LogLevel.Warning,
        "Connection {Id} from {EndPoint} is closed: {Bytes} bytes of a frame came within {Window}; {Rate} a second is "
        + "the least.")]
    public static partial void FrameBelowRate(
        ILogger logger, long id, EndPoint endPoint, long bytes, TimeSpan window, int rate);

    [LoggerMessage(1103, LogLevel.Warning,
        "Connection {Id} from {EndPoint} is closed: others wait for the {Bytes} bytes of receive memory that its frame "
        + "holds, which began {Age} ago and does not come.")]
    public static partial void HalfFrameEnded(ILogger logger, long id, EndPoint endPoint, int bytes, TimeSpan age);

    [LoggerMessage(1104, LogLevel.Warning,
        "Connection {Id} from {EndPoint} is closed: all {MaxConnections} connections are in use, and it has waited the "
        + "longest without saying who it is.")]
    public static partial void MadeRoom(ILogger logger, long id, EndPoint endPoint, int maxConnections);

    [LoggerMessage(
        EventId = 1105, Message = "{Times} more of event {Event} came within 10 s and are not logged.")]
    public static partial void Held(ILogger logger, LogLevel level, long times, int @event);

    [LoggerMessage(
        EventId = 1106,
        Message = "{Times} more of event {Event} from {Addresses} addresses came within 10 s and are not logged.")]
    public static partial void HeldFrom(ILogger logger, LogLevel level, long times, int @event, int addresses);

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
