namespace EQueue.Client;

/// <summary>Why a broker cannot be reached while the client keeps trying.</summary>
/// <param name="Address">The broker's, as it was given: <c>host:port</c> or <c>unix:/path</c>.</param>
/// <param name="Reason">In a few words for people, without a full stop: connection refused, no such host.</param>
/// <param name="Attempts">Attempts that failed since the broker was there last, over all connections to it.</param>
/// <param name="Away">Since the first of them.</param>
public sealed record ConnectFailure(string Address, string Reason, int Attempts, TimeSpan Away);
