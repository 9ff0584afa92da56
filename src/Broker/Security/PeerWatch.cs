using System.Collections.Concurrent;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>Ends connections and requests whose user, token, rule or trusted certificate is gone, and has waiting
/// fetches judged anew when rules change.</summary>
/// <remarks>Looks every second: a token that expires, a user who is disabled, a certificate that is revoked, is out
/// within two.</remarks>
internal sealed class PeerWatch(
    SecurityTable table, TokenClock clock, IRuleObserver observer, TimeProvider time, ILogger logger)
    : PeriodicLoop(TimeSpan.FromSeconds(1), time)
{
    private readonly ConcurrentDictionary<BrokerConnection, Credential> _peers = new();
    private readonly ConcurrentDictionary<Admission, bool> _admissions = new();
    private SecurityBook _seen = table.Book;

    /// <summary>What is told to those whose credentials have ended.</summary>
    public static EQueueException NoMore(string reason = "The credentials hold no more.") =>
        new(ErrorCode.Unauthenticated, reason);

    /// <summary>A connection was admitted by something that can end.</summary>
    public void Add(BrokerConnection peer, Credential credential)
    {
        if (!credential.CanEnd && peer.Transport.PeerCertificate is null)
            return;
        _peers[peer] = credential;
        if (peer.IsClosed)
            Remove(peer);
    }

    /// <summary>A request was admitted.</summary>
    public void Add(Admission admission)
    {
        if (!table.IsUnbound(admission.Principal) || admission.CanEnd)
            _admissions[admission] = true;
    }

    /// <summary>A connection has gone.</summary>
    public void Remove(BrokerConnection peer) => _peers.TryRemove(peer, out _);

    /// <summary>A request is over.</summary>
    public void Remove(Admission admission) => _admissions.TryRemove(admission, out _);

    /// <inheritdoc/>
    protected override async Task RunOnceAsync(CancellationToken cancellationToken)
    {
        SecurityBook book = table.Book;
        long nowMs = clock.NowMs;
        foreach ((BrokerConnection peer, Credential credential) in _peers)
        {
            if (!credential.Holds(book, nowMs))
                peer.Transport.Close(NoMore());
            else if (peer.Transport.FindDistrust() is { } reason)
                peer.Transport.Close(NoMore($"The certificate is not trusted any more: {reason}."));
        }

        if (book != _seen)
        {
            _seen = book;
            observer.OnRulesChanged();
        }

        foreach (Admission admission in _admissions.Keys)
            await LookAsync(admission, book, nowMs);
    }

    private async Task LookAsync(Admission admission, SecurityBook book, long nowMs)
    {
        try
        {
            await admission.LookAsync(book, nowMs);
        }
        catch (AggregateException exception)
        {
            // What waits for the end is the program's own, and no reason to watch no more.
            logger.RequestNotEnded(admission.Principal, exception);
        }
    }
}
