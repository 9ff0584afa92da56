namespace EQueue.Broker;

/// <summary>The topics that bound their backlog, the largest first: sorted once for all instruments that are read
/// together.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class BacklogRanking(BacklogTable backlogs, TimeProvider time)
{
    private readonly MeasuringRound<IReadOnlyList<(string Topic, BacklogFigures Figures)>> _round =
        new(() => Rank(backlogs), time);

    /// <summary>The figures of one moment.</summary>
    /// <param name="instrument">Who asks; asking again begins a new round.</param>
    public IReadOnlyList<(string Topic, BacklogFigures Figures)> Show(object instrument) => _round.Show(instrument);

    private static (string Topic, BacklogFigures Figures)[] Rank(BacklogTable backlogs) =>
    [
        .. backlogs.BoundedTopics
            .Select(backlog => (backlog.Topic, backlog.Figures))
            .OrderByDescending(topic => topic.Figures.Messages)
            .ThenBy(topic => topic.Topic, StringComparer.Ordinal),
    ];
}
