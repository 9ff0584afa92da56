namespace EQueue.Broker;

/// <summary>Consumer groups: who is in them, how far they are, and when they are forgotten.</summary>
internal sealed class GroupModule : IBrokerModule, IDisposable
{
    private readonly ModuleContext _context;
    private readonly TopicCatalogue _catalogue;
    private readonly GroupExpiry _expiry;

    public GroupModule(ModuleContext context, GroupTable table, TopicCatalogue catalogue, BacklogTable backlogs)
    {
        (_context, Table, _catalogue) = (context, table, catalogue);
        Heartbeats = new HeartbeatHandler(context, catalogue, table, backlogs);
        var progress = new ProgressWriter(context.Store, Heartbeats, backlogs);
        var remover = new GroupRemover(progress);
        var rules = new ProgressRules(context.State.Groups, context.Ledger, context.Limits);
        Commits = new CommitHandler(context, catalogue, table, Heartbeats, backlogs, rules);
        Admin = new GroupAdminHandler(context, catalogue, table, Heartbeats, progress, remover, rules);
        _expiry = new GroupExpiry(context, table, remover);
    }

    /// <summary>The groups.</summary>
    public GroupTable Table { get; }

    /// <summary>Their members.</summary>
    public HeartbeatHandler Heartbeats { get; }

    /// <summary>Their progress.</summary>
    public CommitHandler Commits { get; }

    /// <summary>What is asked of them from outside.</summary>
    public GroupAdminHandler Admin { get; }

    /// <inheritdoc/>
    public async Task LoadAsync()
    {
        await GroupProgress.MendAsync(_context.Store, _context.State.Groups, _context.Logger);
        int forgotten = Table.Load(_catalogue);
        if (forgotten > 0)
            _context.Logger.OffsetsForgotten(forgotten);
        await _catalogue.MeasureAsync();
    }

    /// <inheritdoc/>
    public void Start()
    {
        Heartbeats.Start();
        if (_context.Options.Groups.OffsetRetention > TimeSpan.Zero)
            _expiry.Start();
    }

    /// <inheritdoc/>
    public void OnDisconnected(BrokerConnection peer) => Heartbeats.EndConnection(peer);

    /// <inheritdoc/>
    public void StopWaiting() => Heartbeats.Stop();

    /// <inheritdoc/>
    public ValueTask StopAsync() => _expiry.DisposeAsync();

    public void Dispose() => Heartbeats.Dispose();
}
