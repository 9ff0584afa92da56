namespace EQueue.Broker;

/// <summary>Learns that users, tokens or rules have changed, within a second.</summary>
internal interface IRuleObserver
{
    /// <summary>What waits by leave of the rules is to be judged again. On the pool.</summary>
    void OnRulesChanged();
}
