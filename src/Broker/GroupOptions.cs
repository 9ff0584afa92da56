namespace EQueue.Broker;

/// <summary>How consumer groups are kept.</summary>
public sealed record GroupOptions
{
    /// <summary>
    /// How long a member may be without a connection before its queues go to others; 0 to 1 min, and never more than
    /// its session timeout. A static member has its session timeout instead. Default: 1 s.
    /// </summary>
    public TimeSpan ReconnectGrace { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>
    /// How long a group that had members when the broker ended waits for them after a start; 0 to 1 min. Default: 3 s.
    /// </summary>
    public TimeSpan SettleWindow { get; init; } = TimeSpan.FromSeconds(3);

    /// <summary>
    /// How long the progress of a group without members is kept after its last sign; up to 10,000 days, 0 = without
    /// end. Default: 30 d.
    /// </summary>
    public TimeSpan OffsetRetention { get; init; } = TimeSpan.FromDays(30);

    /// <summary>How often groups are looked through for those to let go; 100 ms to 1 h. Default: 1 min.</summary>
    public TimeSpan ExpiryInterval { get; init; } = TimeSpan.FromMinutes(1);

    internal void Validate()
    {
        OptionRules.Require(
            OffsetRetention >= TimeSpan.Zero && OffsetRetention <= TimeSpan.FromDays(10_000),
            "Groups.OffsetRetention", "0 (without end) to 10,000 days", OffsetRetention);
        OptionRules.Require(
            ExpiryInterval >= TimeSpan.FromMilliseconds(100) && ExpiryInterval <= TimeSpan.FromHours(1),
            "Groups.ExpiryInterval", "100 ms to 1 h", ExpiryInterval);
        Range(ReconnectGrace, nameof(ReconnectGrace));
        Range(SettleWindow, nameof(SettleWindow));
    }

    private static void Range(TimeSpan value, string setting) =>
        OptionRules.Require(
            value >= TimeSpan.Zero && value <= TimeSpan.FromMinutes(1), "Groups." + setting, "0 to 1 min", value);
}
