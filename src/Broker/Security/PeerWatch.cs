using System.Collections.Concurrent;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Closes connections whose user, token or rule is gone, and has waiting fetches judged anew when rules
/// change.</summary>
/// <remarks>Looks every second: a token that expires, a user who is disabled, is out within two.</remarks>
internal sealed class PeerWatch(SecurityTable table, TokenClock clock, FetchHandler fetch, TimeProvider time)
    : PeriodicLoop(TimeSpan.FromSeconds(1), time)
{
    private readonly ConcurrentDictionary<BrokerConnection, Credential> _peers = new();
    private SecurityBook _seen = table.Book;

    /// <summary>A connection was admitted by something that can end.</summary>
    public void Add(BrokerConnection peer, Credential credential)
    {
        if (credential.User is null && !credential.IsByRule)
            return;
        _peers[peer] = credential;
        if (peer.IsClosed)
            Remove(peer);
    }

    /// <summary>A connection has gone.</summary>
    public void Remove(BrokerConnection peer) => _peers.TryRemove(peer, out _);

    /// <inheritdoc/>
    protected override Task RunOnceAsync(CancellationToken cancellationToken)
    {
        SecurityBook book = table.Book;
        long nowMs = clock.NowMs;
        foreach ((BrokerConnection peer, Credential credential) in _peers)
        {
            if (!credential.Holds(book, nowMs))
                peer.Transport.Close(new EQueueException(ErrorCode.Unauthenticated, "The credentials hold no more."));
        }

        if (book != _seen)
        {
            _seen = book;
            fetch.JudgeParked();
        }

        return Task.CompletedTask;
    }
}
