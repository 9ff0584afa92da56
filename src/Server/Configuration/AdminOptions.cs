namespace EQueue.Server.Configuration;

/// <summary>What the admin port allows; docs/admin-http.md says what happens at each limit.</summary>
internal sealed record AdminOptions
{
    /// <summary>Bytes of a request's body; 1 KiB to 1 GiB.</summary>
    public long MaxBodyBytes { get; init; } = 8 << 20;

    /// <summary>Requests of the API at once; 1 to 10,000.</summary>
    public int MaxRequests { get; init; } = 32;

    /// <summary>Streams of live figures at once; 0 to 1,000.</summary>
    public int MaxStreams { get; init; } = 16;

    /// <summary>How long a request may take, and the longest that one may wait; 1 s to 10 min.</summary>
    public TimeSpan RequestTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>How long a connection may wait for its first or next request.</summary>
    public TimeSpan IdleTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>How long a peer may take or send next to nothing before it is cut; more than 1 s.</summary>
    public TimeSpan SlowPeerGrace { get; init; } = TimeSpan.FromSeconds(5);
}
