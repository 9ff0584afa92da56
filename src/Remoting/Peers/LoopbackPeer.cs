using System.Net;
using System.Net.Sockets;

namespace EQueue.Remoting;

/// <summary>Whose the other end of a TCP connection within this machine is, as the system's table of sockets has
/// it.</summary>
/// <remarks>Linux alone. Thread-safe.</remarks>
public static class LoopbackPeer
{
    private const long BetweenTriesMs = 1_000;

    private static readonly Lock ChoiceLock = new();
    private static volatile ISocketTable? s_table;
    private static long s_lastTry = long.MinValue;

    /// <summary>The user of this process, as the system checks it; null where users are not numbers, and where the
    /// process runs under the number that also stands for users whom its container does not know.</summary>
    public static uint? OwnUser => UserIds.Own is { } own ? UserIds.Know(own) : null;

    /// <summary>Whether a peer within this machine is the user of this process, or root, who can read all that it has;
    /// where the system tells no users, each of this machine is.</summary>
    /// <param name="user">As <see cref="FindUser"/> found it.</param>
    public static bool IsOwner(uint? user) =>
        user is { } number ? number == 0 || number == OwnUser : !OperatingSystem.IsLinux();

    /// <summary>The same of a peer that may be elsewhere, or in this process, which is its own.</summary>
    /// <param name="place">Where it is.</param>
    /// <param name="user">As <see cref="FindUser"/> found it.</param>
    public static bool IsOwner(PeerPlace place, uint? user) =>
        place == PeerPlace.InProcess || (place != PeerPlace.Remote && IsOwner(user));

    /// <summary>Whether this system tells the users of sockets: the first call tries it with a connection of its
    /// own.</summary>
    public static bool IsTold => FindTable() is not null;

    /// <summary>Finds the user who made the socket at the other end.</summary>
    /// <param name="local">The end that this process has, of an established connection; its listener's addresses will
    /// not do.</param>
    /// <param name="remote">The other end.</param>
    /// <returns>The number of the user; null when it is not known: an end is no loopback address, the other end is
    /// closed already, this is not Linux, or the system does not tell (a sandbox without netlink and /proc). A peer can
    /// bring about null, so null must never mean more rights than a number.</returns>
    /// <remarks>
    /// <para>It proves who made the socket (its process's file system user at that moment), not who reads and writes
    /// it now: a process may pass a socket on, take over another user's identity after it made one, or carry bytes for
    /// others, as proxies and port forwards do.</para>
    /// <para>Asks the kernel for one entry by its addresses (sock_diag(7)), which takes microseconds however many
    /// connections there are. Where that is not permitted it reads /proc/net/tcp, which takes longer the more
    /// there are.</para>
    /// </remarks>
    public static uint? FindUser(IPEndPoint local, IPEndPoint remote)
    {
        return IsWithin(local, remote) && FindTable()?.FindUser(ConnectionEnds.Of(local, remote)) is { } user
            ? UserIds.Know(user)
            : null;
    }

    /// <summary>Whether both ends are loopback addresses; IPv4 ones may be written as IPv6.</summary>
    public static bool IsWithin(IPEndPoint local, IPEndPoint remote)
    {
        ArgumentNullException.ThrowIfNull(local);
        ArgumentNullException.ThrowIfNull(remote);
        return IPAddress.IsLoopback(ConnectionEnds.Plain(local.Address))
            && IPAddress.IsLoopback(ConnectionEnds.Plain(remote.Address));
    }

    private static ISocketTable? FindTable()
    {
        if (s_table is { } table || !OperatingSystem.IsLinux())
            return s_table;
        lock (ChoiceLock)
        {
            // That it fails may be a matter of the moment, such as descriptors that are used up.
            long now = Environment.TickCount64;
            if (s_table is not null || (s_lastTry != long.MinValue && now - s_lastTry < BetweenTriesMs))
                return s_table;
            s_lastTry = now;
            return s_table = Choose();
        }
    }

    /// <summary>The first table that knows whose a connection of this process is.</summary>
    private static ISocketTable? Choose()
    {
        try
        {
            using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            listener.Listen(1);
            using var far = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            far.Connect(listener.LocalEndPoint!);
            using Socket near = listener.Accept();
            var ends = ConnectionEnds.Of((IPEndPoint)far.RemoteEndPoint!, (IPEndPoint)far.LocalEndPoint!);
            return new ISocketTable[] { new SocketDiagnosis(), new SocketTableFile() }
                .FirstOrDefault(table => table.FindUser(ends) == UserIds.Own);
        }
        catch (SocketException)
        {
            return null;
        }
    }
}
