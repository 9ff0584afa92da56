using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>Computes backlog and lag of the groups every <see cref="TelemetryOptions.GroupInterval"/>, while a listener
/// listens.</summary>
/// <remarks>
/// Backlogs are read from memory, of all groups and queues. Lag asks for the age of a message, which may read an index
/// from disk: only for the series shown, and of each only in its <see cref="MostLookUps"/> queues with the largest
/// backlog.
/// </remarks>
internal sealed class GroupWatch(BrokerParts parts, GroupInstruments instruments)
    : PeriodicLoop(parts.Context.Options.Telemetry.GroupInterval, parts.Context.Time)
{
    /// <summary>Queues of a group in a topic whose oldest message is looked up in a round.</summary>
    private const int MostLookUps = 16;

    protected override async Task RunOnceAsync(CancellationToken cancellationToken)
    {
        if (!instruments.IsEnabled)
            return;
        try
        {
            instruments.Show(await ComputeAsync(cancellationToken));
        }
        catch (Exception exception) when (exception is not OperationCanceledException)
        {
            parts.Context.Logger.BacklogNotComputed(exception);
        }
    }

    private async Task<IReadOnlyList<GroupSeries>> ComputeAsync(CancellationToken cancellationToken)
    {
        Tally[] tallies =
        [
            .. parts.Groups.Groups.SelectMany(CountOf)
                .OrderByDescending(tally => tally.Backlog)
                .ThenBy(tally => tally.Group, StringComparer.Ordinal)
                .ThenBy(tally => tally.Topic, StringComparer.Ordinal),
        ];
        int most = parts.Context.Options.Telemetry.MaxSeries;
        long nowMs = parts.Store.NowMs;
        var series = new List<GroupSeries>(Math.Min(tallies.Length, most) + 1);
        foreach (Tally tally in tallies.Take(most))
        {
            double lag = await FindLagAsync(tally, nowMs, cancellationToken);
            series.Add(new GroupSeries(tally.Group, tally.Topic, tally.Backlog, lag));
        }

        if (tallies.Length > most)
        {
            long rest = tallies.Skip(most).Sum(tally => tally.Backlog);
            series.Add(new GroupSeries(BrokerTelemetry.Others, BrokerTelemetry.Others, rest, -1));
        }

        return series;
    }

    /// <summary>One tally for each topic in which the group has members or progress; a broadcast group's instances
    /// count together.</summary>
    private IEnumerable<Tally> CountOf(Group group)
    {
        var tallies = new Dictionary<string, Tally>(StringComparer.Ordinal);
        foreach (ProgressKey key in KeysOf(group))
        {
            if (!parts.Catalogue.TryFindByQueue(key.Queue.Id, out Topic? topic)
                || !parts.Store.TryGetQueue(key.Queue.Id, out QueueView view))
            {
                continue;
            }

            if (!tallies.TryGetValue(topic.Name, out Tally? tally))
                tallies.Add(topic.Name, tally = new Tally(group.Name, topic.Name));
            QueueOffset? committed = group.Find(key.Instance, key.Queue)?.Next;
            tally.Add(view, committed, GroupLag.Count(view, committed));
        }

        return tallies.Values;
    }

    private static HashSet<ProgressKey> KeysOf(Group group)
    {
        QueueKey[] read;
        lock (group.Gate)
            read = group.Roster.Kind == GroupKind.Broadcast ? [] : [.. group.Roster.Queues.Select(queue => queue.Key)];
        HashSet<ProgressKey> keys = [.. group.Progress];
        keys.UnionWith(read.Select(queue => new ProgressKey(null, queue)));
        return keys;
    }

    private async ValueTask<double> FindLagAsync(Tally tally, long nowMs, CancellationToken cancellationToken)
    {
        if (tally.Backlog == 0)
            return 0;
        long oldestMs = -1;
        foreach ((QueueView view, QueueOffset? committed, _) in tally.Behind
            .OrderByDescending(queue => queue.Backlog).Take(MostLookUps))
        {
            oldestMs = Math.Max(
                oldestMs, await GroupLag.FindAgeMsAsync(parts.Store, view, committed, nowMs, cancellationToken));
        }

        return oldestMs < 0 ? -1 : oldestMs / 1000.0;
    }

    private sealed class Tally(string group, string topic)
    {
        public string Group { get; } = group;

        public string Topic { get; } = topic;

        public long Backlog { get; private set; }

        /// <summary>Queues with a backlog.</summary>
        public List<(QueueView View, QueueOffset? Committed, long Backlog)> Behind { get; } = [];

        public void Add(in QueueView view, QueueOffset? committed, long backlog)
        {
            Backlog += backlog;
            if (backlog > 0)
                Behind.Add((view, committed, backlog));
        }
    }
}
