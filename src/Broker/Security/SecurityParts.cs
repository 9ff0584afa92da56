using EQueue.MessageStore;
using EQueue.Protocol;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>What finds out who peers are, decides what they may do and writes it down.</summary>
internal sealed class SecurityParts : IDisposable, IAsyncDisposable
{
    private readonly TimeProvider _time;
    private readonly TokenClock _clock;
    private readonly ILogger _logger;

    public SecurityParts(
        QueueStore store,
        StoredSecurity state,
        SecurityOptions options,
        MemoryPool memory,
        BrokerCounters counters,
        TimeProvider time,
        ILogger logger)
    {
        _time = time;
        _logger = logger;
        _clock = new TokenClock(time);
        Table = new SecurityTable(store, state, options, memory, _clock, logger);
        Table.Load();
        Audit = new AuditLog(options.Audit, counters, time);
        Authenticator = new Authenticator(Table, options, Audit, new LoginGuard(time), _clock);
    }

    public SecurityTable Table { get; }

    public AuditLog Audit { get; }

    public Authenticator Authenticator { get; }

    /// <summary>Set by <see cref="Watch"/>.</summary>
    public PeerWatch Peers { get; private set; } = null!;

    /// <summary>Names who is to hear that rules have changed.</summary>
    public void Watch(IRuleObserver observer) => Peers = new PeerWatch(Table, _clock, observer, _time, _logger);

    /// <summary>What a peer may do.</summary>
    public PeerAccess AccessOf(ClientIdentity client) => new(Table, Audit, client);

    /// <summary>Admits a peer without a connection, for one request.</summary>
    /// <param name="facts">Of the peer.</param>
    /// <param name="token">That it showed; null = none.</param>
    /// <param name="client">What it calls itself.</param>
    /// <exception cref="EQueueException">AuthenticationFailed, Unauthenticated.</exception>
    public Admission Admit(in PeerFacts facts, string? token, string client)
    {
        Credential credential = Authenticator.Admit(facts, token, client);
        var peer = new ClientIdentity(client, credential.Principal, facts.Address);
        return new Admission(credential, AccessOf(peer), Peers);
    }

    public void Start() => Peers.Start();

    public async ValueTask DisposeAsync()
    {
        await Peers.DisposeAsync();
        Dispose();
    }

    /// <summary>Where nothing was started.</summary>
    public void Dispose() => Table.Dispose();
}
