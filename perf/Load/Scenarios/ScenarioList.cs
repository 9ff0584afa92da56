namespace EQueue.Load.Scenarios;

/// <summary>The scenarios, in the order in which they are listed.</summary>
internal static class ScenarioList
{
    public static IReadOnlyList<IScenario> All { get; } =
    [
        new LimitScenario(),
        new ThroughputScenario(),
        new SyncScenario(),
        new LatencyScenario(),
        new RemotingScenario(),
        new StoreScenario(),
        new PackingScenario(),
        new RecoveryScenario(),
        new ColdReadScenario(),
        new BackPressureScenario(),
        new FilterScenario(),
        new GroupsScenario(),
        new TopicsScenario(),
        new AdminScenario(),
        new ConnectionsScenario(),
        new FanoutScenario(),
        new TinyMessagesScenario(),
        new SeveralBrokersScenario(),
        new FailoverScenario(),
        new ReplicationScenario(),
        new AllScenario(),
    ];

    public static IScenario? Find(string name) => All.FirstOrDefault(scenario => scenario.Name == name || scenario.FormerName == name);
}
