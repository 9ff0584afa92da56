namespace EQueue.Remoting;

/// <summary>States of Linux's TCP sockets (include/net/tcp_states.h) in which one is the end of a connection that came
/// about and that a process holds.</summary>
internal static class TcpState
{
    /// <summary>Whether such a socket may answer for its end. One that only asks for a connection, or listens, is
    /// another socket with the same addresses; one without a process (no inode) is said to be root's by many
    /// kernels.</summary>
    public static bool IsHeld(uint state, ulong inode) => inode != 0 && state is
        1 // ESTABLISHED
        or 4 or 5 // FIN_WAIT1 and 2: it has ended its direction.
        or 8; // CLOSE_WAIT: this end has ended its own.
}
