using EQueue.Load.Measuring;

namespace EQueue.Load.Consuming;

/// <summary>What the consumers of one process are to be, before anything is sent.</summary>
/// <param name="Group">The group of members.</param>
/// <param name="InGroup">They are members of one group; else each is given its share of the queues.</param>
/// <param name="Batches">Reads stored batches instead of messages one by one.</param>
/// <param name="TimeAll">Every message carries its due time and is timed, not one in 1,024.</param>
/// <param name="Rate">Messages a second that each reads at most; null: at will.</param>
/// <param name="SlotCount">As the producers have it.</param>
internal sealed record ConsumerOrder(
    string Server,
    int Consumers,
    string Group,
    bool InGroup,
    IReadOnlyList<string> Topics,
    int Queues,
    int Producers,
    int Size,
    int Seed,
    uint Run,
    int SlotCount,
    bool Batches,
    bool TimeAll,
    int? Rate,
    Faults Faults)
{
    /// <summary>Whether the first consumer's rate over windows of messages is told.</summary>
    public bool InWindows { get; init; }

    /// <summary>Whether each member keeps to one topic, its number modulo theirs, in a group of that topic.</summary>
    public bool GroupPerTopic { get; init; }

    /// <summary>Brokers that share each topic's queues evenly, and hand out their shares each for itself.</summary>
    public int Brokers { get; init; } = 1;
}

/// <summary>Waits until so many messages have come, or none comes any more.</summary>
/// <param name="Total">Messages since the start of the process.</param>
/// <param name="QuietSeconds">How long without a message means that no more will come.</param>
internal sealed record ExpectOrder(long Total, double QuietSeconds);

/// <summary>How far the consumers came.</summary>
/// <param name="LastConsumedNs">When the last message had been looked at, on <see cref="Clock"/>.</param>
internal sealed record ExpectResult(long Received, long LastConsumedNs, ProcessFigures Figures);

/// <summary>Asks for the verdict.</summary>
/// <param name="Sent">Messages that each producer sent since its start.</param>
internal sealed record JudgeOrder(IReadOnlyList<long> Sent);

/// <summary>The verdict over everything, and the latencies since the last <c>measure</c>.</summary>
internal sealed record JudgeResult(CheckResult Check, LatencyCounts EndToEnd)
{
    /// <summary>The median of <see cref="WindowRates"/> since then; null when it was not asked for.</summary>
    public double? WindowPerSecond { get; init; }
}
