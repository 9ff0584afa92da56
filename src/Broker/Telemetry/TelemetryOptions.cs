namespace EQueue.Broker;

/// <summary>What the broker's metrics show.</summary>
public sealed record TelemetryOptions
{
    /// <summary>
    /// Pairs of group and topic, and topics, that have series of their own; 0 to 10,000. Of backlogs those that are the
    /// largest, of topics those that took the most messages, which keep their series while they exist. The rest is
    /// summed in one series. Default: 100.
    /// </summary>
    public int MaxSeries { get; init; } = 100;

    /// <summary>How often backlog and lag of the groups are computed while a listener is attached; 100 ms to 1 h.
    /// Default: 10 s.</summary>
    public TimeSpan GroupInterval { get; init; } = TimeSpan.FromSeconds(10);

    internal void Validate()
    {
        OptionRules.Require(MaxSeries is >= 0 and <= 10_000, "Telemetry.MaxSeries", "0 to 10,000", MaxSeries);
        OptionRules.Require(
            GroupInterval >= TimeSpan.FromMilliseconds(100) && GroupInterval <= TimeSpan.FromHours(1),
            "Telemetry.GroupInterval", "100 ms to 1 h", GroupInterval);
    }
}
