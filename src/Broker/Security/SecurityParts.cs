namespace EQueue.Broker;

/// <summary>What finds out who peers are, decides what they may do and writes it down.</summary>
internal sealed class SecurityParts : IBrokerModule, IDisposable
{
    /// <param name="context">Of the broker.</param>
    /// <param name="observer">Hears that rules have changed.</param>
    public SecurityParts(ModuleContext context, IRuleObserver observer)
    {
        SecurityOptions options = context.Options.Security;
        var clock = new TokenClock(context.Time);
        Table = new SecurityTable(
            context.Store, context.State.Security, options, context.Ledger.Security, clock, context.Logger);
        Table.Load();
        Audit = new AuditLog(options.Audit, context.Counters, context.Time);
        Authenticator = new Authenticator(Table, options, Audit, new LoginGuard(context.Time), clock);
        Peers = new PeerWatch(Table, clock, observer, context.Time, context.Logger);
    }

    public SecurityTable Table { get; }

    public AuditLog Audit { get; }

    public Authenticator Authenticator { get; }

    /// <summary>Ends connections and requests whose credentials have ended.</summary>
    public PeerWatch Peers { get; }

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

    /// <inheritdoc/>
    public Task LoadAsync() => Table.KeepMockKeyAsync(CancellationToken.None);

    /// <inheritdoc/>
    public void Start() => Peers.Start();

    /// <inheritdoc/>
    public void OnDisconnected(BrokerConnection peer)
    {
        Authenticator.End(peer);
        Peers.Remove(peer);
    }

    /// <inheritdoc/>
    public ValueTask StopAsync() => Peers.DisposeAsync();

    public void Dispose() => Table.Dispose();
}
