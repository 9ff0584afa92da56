using System.Net;

namespace EQueue.Remoting;

/// <summary>Decides where each attempt of a client to connect goes, and when it begins: for a peer that moves from one
/// address to another.</summary>
/// <remarks>The client's connect loop alone calls it, one call at a time. It must neither block nor throw. When its
/// decision changes, <see cref="RemotingClient.ConnectAnew"/> ends what was begun before.</remarks>
public interface IConnectPlan
{
    /// <summary>Where the next attempt goes.</summary>
    ConnectTarget Next();

    /// <summary>The pause before the next attempt; null = the client's own back-off.</summary>
    /// <param name="failures">How many attempts failed, or connections ended soon, since one lived long; 0 = the last
    /// connection did.</param>
    TimeSpan? PauseAfter(int failures);
}

/// <summary>Where an attempt to connect goes.</summary>
/// <param name="EndPoint">As for a <see cref="RemotingClient"/>.</param>
/// <param name="Patience">How long the attempt may take, its handshake included;
/// <see cref="Timeout.InfiniteTimeSpan"/> = what <see cref="RemotingClientOptions.ConnectTimeout"/> allows.</param>
public readonly record struct ConnectTarget(EndPoint EndPoint, TimeSpan Patience);
