namespace EQueue.Broker;

/// <summary>How consumer groups are kept.</summary>
public sealed record GroupOptions
{
    /// <summary>
    /// How long a member may be without a connection before its queues go to others; 0 to 1 min, and never more than
    /// its session timeout. A static member has its session timeout instead.
    /// </summary>
    public TimeSpan ReconnectGrace { get; init; } = TimeSpan.FromSeconds(1);

    /// <summary>
    /// How long a group that had members when the broker ended waits for them after a start; 0 to 1 min.
    /// </summary>
    public TimeSpan SettleWindow { get; init; } = TimeSpan.FromSeconds(3);

    internal void Validate()
    {
        Range(ReconnectGrace, nameof(ReconnectGrace));
        Range(SettleWindow, nameof(SettleWindow));
    }

    private static void Range(TimeSpan value, string setting) =>
        OptionRules.Require(
            value >= TimeSpan.Zero && value <= TimeSpan.FromMinutes(1), "Groups." + setting, "0 to 1 min", value);
}
