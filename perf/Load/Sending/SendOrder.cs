using EQueue.Load.Measuring;

namespace EQueue.Load.Sending;

/// <summary>What the producers of one process are to be, before anything is sent.</summary>
/// <param name="Run">Stamped into every body.</param>
/// <param name="SlotCount">Bodies that a producer has alive at a time.</param>
/// <param name="BatchCount">Messages of one call with the batch API.</param>
/// <param name="SampleMask">A send is timed when its sequence has none of these bits.</param>
internal sealed record ProducerOrder(
    string Server,
    int Producers,
    IReadOnlyList<string> Topics,
    int Size,
    int Seed,
    uint Run,
    int SlotCount,
    SendApi Api,
    int InFlight,
    int BatchCount,
    long SampleMask)
{
    /// <summary>
    /// Queues of the topic among which paced messages take turns, by their keys; 0: without keys, in runs.
    /// </summary>
    public int KeyedQueues { get; init; }

    /// <summary>Whether each producer keeps to one topic, its number modulo theirs.</summary>
    public bool PinTopics { get; init; }

    /// <summary>Whether the first producer's rate over windows of messages is told.</summary>
    public bool InWindows { get; init; }
}

/// <summary>One stretch of sending: by time, or by count when <see cref="MessagesPerProducer"/> is set.</summary>
/// <param name="Rate">
/// Messages a second of all producers together, sent on time whatever the answers do; null: at will.
/// </param>
internal sealed record SendOrder(double Seconds, IReadOnlyList<long>? MessagesPerProducer, int? Rate)
{
    /// <summary>Producers that send at a time, so that very many connect little by little; null: all.</summary>
    public int? AtATime { get; init; }
}

/// <summary>What was sent and acknowledged.</summary>
/// <param name="SentInAll">By producer, since the start of the process.</param>
/// <param name="Messages">In this stretch.</param>
/// <param name="FirstSentNs">On <see cref="Clock"/>.</param>
/// <param name="LastAckedNs">On <see cref="Clock"/>.</param>
/// <param name="Ack">From send to receipt; from the time at which a message was due when there is a rate.</param>
internal sealed record SendResult(
    IReadOnlyList<long> SentInAll,
    long Messages,
    long FirstSentNs,
    long LastAckedNs,
    LatencyCounts Ack,
    ProcessFigures Start,
    ProcessFigures End)
{
    /// <summary>The median of <see cref="WindowRates"/> in this stretch; null when it was not asked for.</summary>
    public double? WindowPerSecond { get; init; }
}
