using System.Diagnostics.Metrics;

namespace EQueue.Broker;

/// <summary>Backlog and lag by group and topic: shows what it was told last.</summary>
internal sealed class GroupInstruments
{
    private readonly ObservableGauge<long> _backlog;
    private readonly ObservableGauge<double> _lag;
    private IReadOnlyList<GroupSeries> _series = [];

    public GroupInstruments(Meter meter)
    {
        _backlog = meter.CreateObservableGauge(
            "equeue.group.backlog",
            () => Volatile.Read(ref _series).Select(series => new Measurement<long>(series.Backlog, TagsOf(series))),
            "{message}",
            "Messages that a group has not committed, over the queues of a topic.");
        _lag = meter.CreateObservableGauge(
            "equeue.group.lag",
            () => Volatile.Read(ref _series).Where(series => series.LagSeconds >= 0)
                .Select(series => new Measurement<double>(series.LagSeconds, TagsOf(series))),
            "s",
            "Age of the oldest message that a group has not committed, over the queues of a topic.");
    }

    /// <summary>Whether anybody listens.</summary>
    public bool IsEnabled => _backlog.Enabled || _lag.Enabled;

    public void Show(IReadOnlyList<GroupSeries> series) => Volatile.Write(ref _series, series);

    private static KeyValuePair<string, object?>[] TagsOf(GroupSeries series) =>
    [
        new(BrokerTelemetry.GroupTag, series.Group),
        new(BrokerTelemetry.TopicTag, series.Topic),
    ];
}

/// <summary>How far a group is behind in a topic.</summary>
/// <param name="Group">The group, or <see cref="BrokerTelemetry.Others"/>.</param>
/// <param name="Topic">The topic, or <see cref="BrokerTelemetry.Others"/>.</param>
/// <param name="Backlog">Messages.</param>
/// <param name="LagSeconds">Age of the oldest of them; -1 = not known.</param>
internal readonly record struct GroupSeries(string Group, string Topic, long Backlog, double LagSeconds);
