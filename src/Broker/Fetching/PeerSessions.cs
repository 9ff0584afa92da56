namespace EQueue.Broker;

/// <summary>The fetch sessions of one connection. Its receive loop's own, but for <see cref="Bytes"/>.</summary>
internal sealed class PeerSessions
{
    /// <summary>Memory that they take; changed with Interlocked.</summary>
    public long Bytes;

    /// <summary>By id.</summary>
    public Dictionary<uint, FetchSession> ById { get; } = [];

    public uint LastId { get; set; }
}
