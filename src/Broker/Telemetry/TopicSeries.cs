using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>What came into each topic, what was given of it and what it keeps, for the metrics: so many topics by name,
/// the others as one sum.</summary>
/// <remarks>
/// Thread-safe. A topic that is shown by name stays so while it exists, since a counter that changed places would seem
/// to fall; free places go to the topics that took the most messages. Costs a look at every queue, once for all
/// instruments that are read together, and nothing without a reader.
/// </remarks>
internal sealed class TopicSeries
{
    private readonly QueueStore _store;
    private readonly TopicCatalogue _catalogue;
    private readonly int _most;
    private readonly MeasuringRound<IReadOnlyList<TopicFigures>> _round;
    private HashSet<string> _named = new(StringComparer.Ordinal);

    /// <param name="store">Where the messages are.</param>
    /// <param name="catalogue">The topics.</param>
    /// <param name="most">Topics with series of their own.</param>
    /// <param name="time">Tells rounds apart.</param>
    public TopicSeries(QueueStore store, TopicCatalogue catalogue, int most, TimeProvider time)
    {
        _store = store;
        _catalogue = catalogue;
        _most = most;
        _round = new MeasuringRound<IReadOnlyList<TopicFigures>>(Measure, time);
    }

    /// <summary>The figures of one moment.</summary>
    /// <param name="instrument">Who asks; asking again begins a new round.</param>
    public IReadOnlyList<TopicFigures> Show(object instrument) => _round.Show(instrument);

    private TopicFigures[] Measure()
    {
        TopicFigures[] all = [.. _catalogue.Topics.Select(MeasureTopic)];
        TopicFigures[] named = [.. all
            .OrderByDescending(topic => _named.Contains(topic.Name))
            .ThenByDescending(static topic => topic.TakenMessages)
            .ThenBy(static topic => topic.Name, StringComparer.Ordinal)
            .Take(_most)];
        _named = [.. named.Select(static topic => topic.Name)];
        if (all.Length <= named.Length)
            return named;
        TopicFigures others = all.Where(topic => !_named.Contains(topic.Name))
            .Aggregate(new TopicFigures(BrokerTelemetry.Others), static (sum, topic) => sum.Plus(topic));
        return [.. named, others];
    }

    private TopicFigures MeasureTopic(Topic topic)
    {
        var figures = new TopicFigures(topic.Name)
        {
            GivenMessages = topic.Traffic.GivenMessages,
            GivenBytes = topic.Traffic.GivenBytes,
        };
        foreach (QueueId queue in topic.Queues)
        {
            if (_store.TryGetQueue(queue, out QueueView view))
                figures = figures.Plus(view);
        }

        return figures;
    }
}

/// <summary>Figures of one topic, or of several together.</summary>
internal sealed record TopicFigures(string Name)
{
    /// <summary>Messages that it ever took.</summary>
    public long TakenMessages { get; init; }

    /// <summary>Bytes of their entries.</summary>
    public long TakenBytes { get; init; }

    public long GivenMessages { get; init; }

    public long GivenBytes { get; init; }

    /// <summary>Messages that it keeps.</summary>
    public long KeptMessages { get; init; }

    /// <summary>Bytes of their entries.</summary>
    public long KeptBytes { get; init; }

    public TopicFigures Plus(in QueueView queue) => this with
    {
        TakenMessages = TakenMessages + queue.End.Value,
        TakenBytes = TakenBytes + queue.TakenBytes,
        KeptMessages = KeptMessages + queue.End.Value - queue.Start.Value,
        KeptBytes = KeptBytes + queue.Bytes,
    };

    public TopicFigures Plus(TopicFigures other) => this with
    {
        TakenMessages = TakenMessages + other.TakenMessages,
        TakenBytes = TakenBytes + other.TakenBytes,
        GivenMessages = GivenMessages + other.GivenMessages,
        GivenBytes = GivenBytes + other.GivenBytes,
        KeptMessages = KeptMessages + other.KeptMessages,
        KeptBytes = KeptBytes + other.KeptBytes,
    };
}
