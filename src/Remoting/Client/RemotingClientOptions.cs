namespace EQueue.Remoting;

/// <summary>Settings of a <see cref="RemotingClient"/>; checked when it is made.</summary>
public sealed record RemotingClientOptions
{
    /// <summary>
    /// Runs on each new connection before any other frame. An exception makes the attempt fail and the client tries
    /// again; a <see cref="PermanentFailureException"/> ends the trying. Default: null.
    /// </summary>
    public Func<IHandshakeChannel, CancellationToken, ValueTask>? HandshakeAsync { get; init; }

    /// <summary>
    /// Told of each attempt that failed, on the thread that connects: must neither block nor throw. Who sets it tells
    /// people; the client itself then logs failures at Debug. Default: null.
    /// </summary>
    public Action<ConnectFault>? ConnectFailed { get; init; }

    /// <summary>Where each attempt goes and when; null = always to the client's end point, after its own back-off.
    /// Default: null.</summary>
    public IConnectPlan? Plan { get; init; }

    /// <summary>How connections to HOST:PORT speak TLS; null = they do not. Other connections do not.
    /// Default: null.</summary>
    public TlsOptions? Tls { get; init; }

    /// <summary>How long one attempt to connect may take, TLS included, and then its handshake. 100 ms or more.
    /// Default: 5 s.
    /// </summary>
    public TimeSpan ConnectTimeout { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>The timeout of calls that name none (<see cref="TimeSpan.Zero"/>) and of oneway sends. 100 ms or
    /// more. Default: 30 s.</summary>
    public TimeSpan RequestTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>After so long without a byte from the peer a ping is sent. 100 ms or more. Default: 10 s.</summary>
    public TimeSpan KeepAliveInterval { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>A ping that nothing follows for so long ends the connection. 100 ms or more. Default: 10 s.</summary>
    public TimeSpan KeepAliveTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>The first reconnect waits a random time up to this; the bound doubles with each failure. 1 ms or
    /// more. Default: 50 ms.</summary>
    public TimeSpan ReconnectDelay { get; init; } = TimeSpan.FromMilliseconds(50);

    /// <summary>Where the doubling ends. <see cref="ReconnectDelay"/> or more. Default: 2 s.</summary>
    public TimeSpan MaxReconnectDelay { get; init; } = TimeSpan.FromSeconds(2);

    /// <summary>Requests that may wait for answers at a time: a power of two, 2..65536. One more waits.
    /// Default: 16,384.</summary>
    public int MaxInFlight { get; init; } = 16_384;

    /// <summary>The largest frame in bytes, header included, both ways, 64 B..1 GiB. Default: 16 MiB.</summary>
    public int MaxFrameBytes { get; init; } = 16 * 1024 * 1024;

    /// <summary>Bytes that may wait to be sent before oneway requests wait, 1 KiB or more; calls, which are bounded in
    /// number too, wait at twice as many. Default: 8 MiB.</summary>
    public int MaxQueuedSendBytes { get; init; } = 8 * 1024 * 1024;

    /// <summary>A oneway request of at most so many bytes, header included, leaves on the thread that sends it, unless
    /// another one is sending: for requests that are few, or whose time counts more than the thread's. Above that, and
    /// by default, only one behind a pause does, and in a stream of them many leave together. 0 or more.
    /// Default: 0.</summary>
    public int PromptOnewayBytes { get; init; }

    /// <summary>The size to which receive blocks grow under load, 4 KiB..16 MiB. Default: 256 KiB.</summary>
    public int ReceiveBufferBytes { get; init; } = 256 * 1024;

    /// <summary>The kernel's send and receive buffer in bytes; 0 leaves them to the system. Default: 0.</summary>
    public int SocketBufferBytes { get; init; }

    internal void Validate()
    {
        OptionCheck.AtLeast(nameof(ConnectTimeout), ConnectTimeout, OptionCheck.ShortestTimeout);
        Tls?.Validate();
        OptionCheck.AtLeast(nameof(RequestTimeout), RequestTimeout, OptionCheck.ShortestTimeout);
        OptionCheck.AtLeast(nameof(KeepAliveInterval), KeepAliveInterval, OptionCheck.ShortestTimeout);
        OptionCheck.AtLeast(nameof(KeepAliveTimeout), KeepAliveTimeout, OptionCheck.ShortestTimeout);
        OptionCheck.AtLeast(nameof(ReconnectDelay), ReconnectDelay, TimeSpan.FromMilliseconds(1));
        OptionCheck.AtLeast(nameof(MaxReconnectDelay), MaxReconnectDelay, ReconnectDelay);
        OptionCheck.InRange(nameof(MaxInFlight), MaxInFlight, 2, 65_536);
        OptionCheck.PowerOfTwo(nameof(MaxInFlight), MaxInFlight);
        OptionCheck.InRange(nameof(MaxFrameBytes), MaxFrameBytes, 64, OptionCheck.LargestFrameBytes);
        OptionCheck.InRange(nameof(MaxQueuedSendBytes), MaxQueuedSendBytes, 1024, int.MaxValue);
        OptionCheck.InRange(nameof(PromptOnewayBytes), PromptOnewayBytes, 0, int.MaxValue);
        OptionCheck.InRange(nameof(ReceiveBufferBytes), ReceiveBufferBytes, 4096, 16 * 1024 * 1024);
        OptionCheck.InRange(nameof(SocketBufferBytes), SocketBufferBytes, 0, int.MaxValue);
    }
}
