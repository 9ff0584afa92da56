namespace EQueue.Remoting;

/// <summary>Settings of a <see cref="RemotingServer"/>; checked when it is made.</summary>
public sealed record RemotingServerOptions
{
    /// <summary>Where to listen. HOST:PORT: an IPv4 or [IPv6] address, or a name, of which every address is taken; port
    /// 0 = any free. Or unix:/path of a Unix socket. Default: 127.0.0.1:0.</summary>
    public IReadOnlyList<string> Listen { get; init; } = ["127.0.0.1:0"];

    /// <summary>Where clients of this process connect without a socket; null = nowhere. With it <see cref="Listen"/>
    /// may be empty. Default: null.</summary>
    public InMemoryEndPoint? InMemory { get; init; }

    /// <summary>How HOST:PORT speaks TLS; null = it does not. Unix sockets do not. Default: null.</summary>
    public ServerTlsOptions? Tls { get; init; }

    /// <summary>Connections at a time, 1 or more; one more is accepted and closed at once. Default: 10,000.</summary>
    public int MaxConnections { get; init; } = 10_000;

    /// <summary>Of these, places for peers on this machine alone (loopback, Unix sockets, in memory), so that they get
    /// in when strangers take the rest; 0 or more, at most a quarter of all counts. Default: 64.</summary>
    public int LocalConnections { get; init; } = 64;

    /// <summary>Connections of one address (of IPv6: of one /64 subnet), 0 or more. 0: an address elsewhere has at most
    /// as many as it leaves free, and this machine's have no bound of their own. Default: 0.</summary>
    public int MaxConnectionsPerAddress { get; init; }

    /// <summary>A connection that the handler has not admitted (<see cref="Connection.Admit"/>) so long after it
    /// was accepted is closed: TLS counts in, pings change nothing. 100 ms or more; zero = all are admitted from the
    /// beginning. Default: 0.</summary>
    public TimeSpan AdmissionTimeout { get; init; }

    /// <summary>The largest frame in bytes of a connection that is not admitted, 64 B..1 GiB.
    /// Default: 64 KiB.</summary>
    public int MaxUnadmittedFrameBytes { get; init; } = 64 * 1024;

    /// <summary>The least bytes per second that a frame must come in with once it has begun, over 10 s or half the idle
    /// timeout; a slower one closes its connection. When frames wait for receive memory, connections whose frames have
    /// stalled are closed for them. 0 or more; 0 = neither. Default: 16,384.</summary>
    public int MinReceiveRate { get; init; } = 16 * 1024;

    /// <summary>The largest frame in bytes, header included, 64 B..1 GiB; a longer one closes its
    /// connection. Default: 16 MiB.</summary>
    public int MaxFrameBytes { get; init; } = 16 * 1024 * 1024;

    /// <summary>A connection from which nothing came for so long is closed; it is pinged at half of it. 100 ms or
    /// more. Default: 2 min.</summary>
    public TimeSpan IdleTimeout { get; init; } = TimeSpan.FromMinutes(2);

    /// <summary>A connection that takes none of what waits for it for so long is closed. 100 ms or more.
    /// Default: 30 s.</summary>
    public TimeSpan SendTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>Bytes that may wait for one connection before its requests are no longer read, 1 KiB or
    /// more. Default: 8 MiB.</summary>
    public int MaxQueuedSendBytes { get; init; } = 8 * 1024 * 1024;

    /// <summary>The size of a receive block of a connection under load, 4 KiB..16 MiB; one that waits holds 4 KiB.
    /// Default: 512 KiB.
    /// </summary>
    public int ReceiveBufferBytes { get; init; } = 512 * 1024;

    /// <summary>Memory of all receive blocks beyond those 4 KiB of each connection, 1 MiB or more. At the bound
    /// connections are read in small pieces, and frames that do not fit into one wait for their turn.
    /// Default: 1 GiB.</summary>
    public long ReceiveMemoryBytes { get; init; } = 1L << 30;

    /// <summary>Memory of frames that peers have not taken, beyond 16 KiB of each connection, 1 MiB or more. While it
    /// is spent, connections with more than that are not read on, and a peer that takes nothing for a second is closed.
    /// Default: 512 MiB.
    /// </summary>
    public long SendMemoryBytes { get; init; } = 512L << 20;

    /// <summary>The kernel's send and receive buffer of each socket in bytes; 0 leaves them to the system.
    /// Default: 0.</summary>
    public int SocketBufferBytes { get; init; }

    /// <summary>Connections that the kernel holds until they are accepted, 1 or more. Default: 512.</summary>
    public int Backlog { get; init; } = 512;

    internal void Validate()
    {
        if (InMemory is null || Listen is not [])
            OptionCheck.Addresses(nameof(Listen), Listen);
        Tls?.Validate();
        OptionCheck.InRange(nameof(MaxConnections), MaxConnections, 1, int.MaxValue);
        OptionCheck.InRange(nameof(LocalConnections), LocalConnections, 0, int.MaxValue);
        OptionCheck.InRange(nameof(MaxConnectionsPerAddress), MaxConnectionsPerAddress, 0, int.MaxValue);
        if (AdmissionTimeout != TimeSpan.Zero)
            OptionCheck.AtLeast(nameof(AdmissionTimeout), AdmissionTimeout, OptionCheck.ShortestTimeout);
        OptionCheck.InRange(
            nameof(MaxUnadmittedFrameBytes), MaxUnadmittedFrameBytes, 64, OptionCheck.LargestFrameBytes);
        OptionCheck.InRange(nameof(MinReceiveRate), MinReceiveRate, 0, int.MaxValue);
        OptionCheck.InRange(nameof(MaxFrameBytes), MaxFrameBytes, 64, OptionCheck.LargestFrameBytes);
        OptionCheck.AtLeast(nameof(IdleTimeout), IdleTimeout, OptionCheck.ShortestTimeout);
        OptionCheck.AtLeast(nameof(SendTimeout), SendTimeout, OptionCheck.ShortestTimeout);
        OptionCheck.InRange(nameof(MaxQueuedSendBytes), MaxQueuedSendBytes, 1024, int.MaxValue);
        OptionCheck.InRange(nameof(ReceiveBufferBytes), ReceiveBufferBytes, 4096, 16 * 1024 * 1024);
        OptionCheck.InRange(nameof(ReceiveMemoryBytes), ReceiveMemoryBytes, 1 << 20, long.MaxValue);
        OptionCheck.InRange(nameof(SendMemoryBytes), SendMemoryBytes, 1 << 20, long.MaxValue);
        OptionCheck.InRange(nameof(SocketBufferBytes), SocketBufferBytes, 0, int.MaxValue);
        OptionCheck.InRange(nameof(Backlog), Backlog, 1, int.MaxValue);
    }
}
