namespace EQueue.Load.Scenarios;

/// <summary>One case of <c>fanout</c>.</summary>
/// <param name="Part">Which curve it is a point of.</param>
/// <param name="Subscribers">Each of them gets every message.</param>
/// <param name="IsProxied">They read from a second broker, to which <c>equeue forward</c> sends on.</param>
/// <param name="Warmup">For so many seconds at least, rounds of messages are sent and received before those that count:
/// the roles compile what a process that has run for a while has compiled long ago.</param>
internal sealed record FanoutPlan(
    string Part, int Subscribers, int Size, int Messages, bool IsProxied, int Queues, FlushMode Flush, double Warmup)
{
    private const int RoundMessages = 10_000;

    /// <summary>Messages of a round of the warm-up.</summary>
    public int WarmMessages => Math.Min(RoundMessages, Messages);

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
        ("warmup", Warmup),
        ("repeat", repeat),
        ("seed", options.Seed),
    ];
}
