namespace EQueue.Load.Scenarios;

/// <summary>One case of <c>fanout</c>.</summary>
/// <param name="Part">Which curve it is a point of.</param>
/// <param name="Subscribers">Each of them gets every message.</param>
/// <param name="IsProxied">They read from a second broker, to which <c>equeue forward</c> sends on.</param>
/// <param name="WarmMessages">Sent and received before those that count.</param>
internal sealed record FanoutPlan(
    string Part, int Subscribers, int Size, int Messages, bool IsProxied, int Queues, FlushMode Flush, int WarmMessages)
{
    /// <summary>Messages under way.</summary>
    public int InFlight => RunPlan.InFlightFor(Size, SendApi.Message);

    /// <summary>Bodies alive at a time.</summary>
    public int SlotCount => InFlight + 1;

    public IReadOnlyList<(string Name, object? Value)> Describe(LoadOptions options, int repeat) =>
    [
        ("part", Part),
        ("subscribers", Subscribers),
        ("size", Size),
        ("messages", Messages),
        ("proxy", IsProxied ? "equeue forward" : "none"),
        ("queues", Queues),
        ("api", "message"),
        ("flush", Flush.ToString().ToLowerInvariant()),
        ("inFlight", InFlight),
        ("warmMessages", WarmMessages),
        ("repeat", repeat),
        ("seed", options.Seed),
    ];
}
