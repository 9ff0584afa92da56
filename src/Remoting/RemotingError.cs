namespace EQueue.Remoting;

/// <summary>Why a remoting call failed.</summary>
public enum RemotingError
{
    /// <summary>The connection ended after the request was handed to it: whether the peer saw it is not
    /// known.</summary>
    ConnectionLost,

    /// <summary>No connection came about in time; the last connect error is the inner exception. Nothing was
    /// sent.</summary>
    Unreachable,

    /// <summary>No answer in time.</summary>
    Timeout,

    /// <summary>The caller's token ended the wait.</summary>
    Cancelled,

    /// <summary>The client was disposed.</summary>
    Disposed,

    /// <summary>The peer sent bytes that are not a frame.</summary>
    ProtocolViolation,

    /// <summary>The frame is larger than the agreed maximum. Nothing was sent.</summary>
    TooLarge,
}
