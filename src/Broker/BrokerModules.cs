namespace EQueue.Broker;

/// <summary>The features of one broker, in the one list that it starts in order and stops in reverse.</summary>
/// <remarks>Made when the store is open; a module knows those that are made before it. Owns the store as well, which is
/// closed between a module's stop and its end.</remarks>
internal sealed class BrokerModules
{
    private readonly ModuleContext _context;
    private readonly IBrokerModule[] _all;

    public BrokerModules(ModuleContext context)
    {
        _context = context;
        var groups = new GroupTable(context);
        Backlogs = new BacklogTable(context, groups);
        Topics = new TopicCatalogue(context, Backlogs);
        Quotas = new QuotaTable(context);
        Groups = new GroupModule(context, groups, Topics, Backlogs);
        Fetching = new FetchHandler(context, Topics, Quotas);
        Producing = new ProduceHandler(context, Topics, Backlogs, Quotas);
        Security = new SecurityParts(context, Fetching);
        Stats = new StatsHandler(context, Topics, groups, Backlogs, Security.Audit);
        _all =
        [
            Topics,
            Quotas,
            Backlogs,
            Groups,
            Fetching,
            Security,
            new DeletionWatch(context, Topics, groups),
            new RetentionLoop(context, Topics, Backlogs),
            new BrokerMeter(new BrokerParts(context, Topics, groups, Backlogs, Security.Audit)),
        ];
    }

    public TopicCatalogue Topics { get; }

    public QuotaTable Quotas { get; }

    public BacklogTable Backlogs { get; }

    public GroupModule Groups { get; }

    public FetchHandler Fetching { get; }

    public ProduceHandler Producing { get; }

    public SecurityParts Security { get; }

    public StatsHandler Stats { get; }

    /// <summary>Takes over what the log holds; before the broker serves.</summary>
    public async Task LoadAsync()
    {
        foreach (IBrokerModule module in _all)
            await module.LoadAsync();
    }

    /// <summary>The broker serves.</summary>
    public void Start()
    {
        foreach (IBrokerModule module in _all)
            module.Start();
    }

    /// <inheritdoc cref="IBrokerModule.OnDisconnected"/>
    public void OnDisconnected(BrokerConnection peer)
    {
        foreach (IBrokerModule module in _all)
            module.OnDisconnected(peer);
    }

    /// <inheritdoc cref="IBrokerModule.StopWaiting"/>
    public void StopWaiting()
    {
        foreach (IBrokerModule module in _all.Reverse())
            module.StopWaiting();
    }

    /// <summary>Stops all modules and closes the store; no connection is left.</summary>
    public async Task CloseAsync()
    {
        foreach (IBrokerModule module in _all.Reverse())
            await module.StopAsync();
        await _context.Store.DisposeAsync();
        foreach (IBrokerModule module in _all.Reverse())
            module.Close();
    }
}
