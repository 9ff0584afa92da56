namespace EQueue.Remoting;

/// <summary>Where the other end of a connection is.</summary>
public enum PeerPlace
{
    /// <summary>Elsewhere, as far as the connection shows: also a process of this machine that uses one of the
    /// machine's other addresses.</summary>
    Remote = 0,

    /// <summary>On this machine: both ends have loopback addresses.</summary>
    Loopback = 1,

    /// <summary>On this machine, over a Unix socket.</summary>
    UnixSocket = 2,

    /// <summary>In this process.</summary>
    InProcess = 3,
}
