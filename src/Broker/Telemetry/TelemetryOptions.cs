namespace EQueue.Broker;

/// <summary>What the broker's metrics show.</summary>
public sealed record TelemetryOptions
{
    /// <summary>
    /// Pairs of group and topic, and topics with a bound, that have series of their own, those with the largest backlog
    /// first; 0 to 10,000. The rest is summed in one series.
    /// </summary>
    public int MaxSeries { get; init; } = 100;

    /// <summary>How often backlog and lag of the groups are computed while somebody listens; 100 ms to 1 h.</summary>
    public TimeSpan GroupInterval { get; init; } = TimeSpan.FromSeconds(10);

    internal void Validate()
    {
        OptionRules.Require(MaxSeries is >= 0 and <= 10_000, "Telemetry.MaxSeries", "0 to 10,000", MaxSeries);
        OptionRules.Require(
            GroupInterval >= TimeSpan.FromMilliseconds(100) && GroupInterval <= TimeSpan.FromHours(1),
            "Telemetry.GroupInterval", "100 ms to 1 h", GroupInterval);
    }
}
