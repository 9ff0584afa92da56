namespace EQueue.Broker;

/// <summary>The topics that bound their backlog, the largest first: sorted once for all instruments that are read
/// together.</summary>
/// <remarks>Thread-safe.</remarks>
internal sealed class BacklogRanking(BacklogTable backlogs, TimeProvider time)
{
    /// <summary>Instruments that are read further apart than this are not read together.</summary>
    private static readonly TimeSpan LongestRound = TimeSpan.FromMilliseconds(100);

    private readonly Lock _gate = new();
    private readonly HashSet<object> _shownTo = [];
    private (string Topic, BacklogFigures Figures)[] _topics = [];
    private long _rankedAt;

    /// <summary>The figures of one moment.</summary>
    /// <param name="instrument">Who asks; whoever asks again begins a new round.</param>
    public IReadOnlyList<(string Topic, BacklogFigures Figures)> Show(object instrument)
    {
        lock (_gate)
        {
            bool isNew = _shownTo.Count == 0 || time.GetElapsedTime(_rankedAt) > LongestRound;
            if (!_shownTo.Add(instrument) || isNew)
            {
                _topics = Rank();
                _rankedAt = time.GetTimestamp();
                _shownTo.Clear();
                _shownTo.Add(instrument);
            }

            return _topics;
        }
    }

    private (string Topic, BacklogFigures Figures)[] Rank() =>
    [
        .. backlogs.BoundedTopics
            .Select(backlog => (backlog.Topic, backlog.Figures))
            .OrderByDescending(topic => topic.Figures.Messages)
            .ThenBy(topic => topic.Topic, StringComparer.Ordinal),
    ];
}
