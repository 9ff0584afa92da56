using EQueue.Load.Measuring;

namespace EQueue.Load.Reporting;

/// <summary>
/// The figures of one run, or the medians of a row. A figure that was not measured is absent, with a note.
/// </summary>
internal sealed class Figures
{
    private readonly Dictionary<string, double> _values = new(StringComparer.Ordinal);
    private readonly Dictionary<string, LatencyHistogram> _histograms = new(StringComparer.Ordinal);
    private readonly Dictionary<string, string> _notes = new(StringComparer.Ordinal);

    /// <summary>All that was timed, by group of latencies; of a row the runs' together.</summary>
    public IReadOnlyDictionary<string, LatencyHistogram> Histograms => _histograms;

    /// <summary>What <see cref="FigureNames.ReferenceValue"/> was measured on; null when there is none.</summary>
    public string? ReferenceSystem { get; private set; }

    /// <summary>Messages a second of each subscriber; null when there are none.</summary>
    public IReadOnlyList<double>? SubscriberPerSecond { get; set; }

    /// <summary>Why figures are absent, by name of the figure or of its group.</summary>
    public IReadOnlyDictionary<string, string> Notes => _notes;

    /// <summary>One of <see cref="FigureNames.All"/>; null = not measured.</summary>
    public double? this[string name]
    {
        get => _values.TryGetValue(name, out double value) ? value : null;
        set
        {
            if (!FigureNames.All.Contains(name))
                throw new ArgumentException($"no figure is called {name}", nameof(name));
            if (value is { } known && double.IsFinite(known))
                _values[name] = known;
            else
                _values.Remove(name);
        }
    }

    /// <summary>Says why a figure or a whole group of figures is absent.</summary>
    public void Note(string nameOrGroup, string text) => _notes[nameOrGroup] = text;

    public void SetReference(string system, double value)
    {
        ReferenceSystem = system;
        this[FigureNames.ReferenceValue] = value;
    }

    public void SetLatency(string group, LatencyHistogram histogram)
    {
        SetPercentiles(group, histogram, nsOfUnit: 1e3);
        _histograms[group] = histogram;
    }

    /// <summary>Sets how long it took, after each change of one kind, until a group had settled.</summary>
    /// <param name="change">One of <see cref="FigureNames.Changes"/>.</param>
    public void SetRebalance(string change, LatencyHistogram histogram)
    {
        string group = FigureNames.Of(FigureNames.Rebalance, change);
        this[FigureNames.Of(group, FigureNames.Count)] = histogram.Count;
        SetPercentiles(group, histogram, nsOfUnit: 1e6);
    }

    /// <summary>Sets how long requests to administer took, from when they were due.</summary>
    public void SetAdmin(LatencyHistogram histogram)
    {
        this[FigureNames.Of(FigureNames.Admin, FigureNames.Count)] = histogram.Count;
        SetPercentiles(FigureNames.Admin, histogram, nsOfUnit: 1e6);
    }

    /// <summary>Sets how long nothing was acknowledged, after each fault of the node that led.</summary>
    public void SetFailover(LatencyHistogram histogram)
    {
        this[FigureNames.Of(FigureNames.Failover, FigureNames.Count)] = histogram.Count;
        SetPercentiles(FigureNames.Failover, histogram, nsOfUnit: 1e6);
    }

    /// <summary>Sets how far the cores were from each other before a run, or behind it if they were farther then.</summary>
    public void SetCoreDistance(double? beforeNs, double? afterNs)
    {
        this[FigureNames.CoreToCoreNs] = beforeNs is { } before && afterNs is { } after
            ? Math.Max(before, after)
            : beforeNs ?? afterNs;
        Note(FigureNames.CoreToCoreNs, "there is one core, or others were at work on both");
    }

    /// <summary>Sets what a role's process used between two moments.</summary>
    public void SetProcess(string role, ProcessFigures start, ProcessFigures end, long messages)
    {
        this[FigureNames.Of(role, FigureNames.CpuPercent)] = end.CpuPercentSince(start);
        this[FigureNames.Of(role, FigureNames.ResidentBytes)] = end.ResidentBytes;
        this[FigureNames.Of(role, FigureNames.AllocatedBytesPerMessage)] =
            messages == 0 ? null : (double)(end.AllocatedBytes - start.AllocatedBytes) / messages;
    }

    public void SetCheck(CheckResult check)
    {
        this[FigureNames.Missing] = check.Missing;
        this[FigureNames.Duplicated] = check.Duplicated;
        this[FigureNames.Reordered] = check.Reordered;
        this[FigureNames.Damaged] = check.Damaged;
    }

    /// <summary>Adds what was wrong in another part of the same run.</summary>
    public void AddCheck(Figures other)
    {
        foreach (string name in FigureNames.Faults)
            this[name] += other[name] ?? 0;
    }

    /// <summary>Takes every rate and latency away, because the messages were wrong.</summary>
    public void Discredit()
    {
        const string note = "wrong data: no rate is given";
        foreach (string name in FigureNames.All)
        {
            if (FigureNames.Rates.Contains(name) || name.StartsWith("latencyUs", StringComparison.Ordinal))
                this[name] = null;
        }

        SubscriberPerSecond = null;
        _histograms.Clear();
        foreach (string name in FigureNames.Rates.Append(FigureNames.SubscriberPerSecond))
            Note(name, note);
        Note("latencyUs", note);
    }

    /// <summary>Medians over runs; counts of wrong messages are summed, the spread is that of the first rate.</summary>
    public static Figures Over(IReadOnlyList<Figures> runs)
    {
        var row = new Figures { ReferenceSystem = runs[0].ReferenceSystem };
        foreach (string name in FigureNames.All)
        {
            double[] values = runs.Select(run => run[name]).OfType<double>().ToArray();
            if (values.Length == 0)
                continue;
            bool isCount = name == FigureNames.Repeated || FigureNames.Faults.Contains(name);
            row[name] = isCount ? values.Sum() : Statistics.Median(values);
        }

        foreach ((string group, LatencyHistogram histogram) in runs.SelectMany(run => run.Histograms))
        {
            if (!row._histograms.TryGetValue(group, out LatencyHistogram? all))
                row._histograms[group] = all = new LatencyHistogram();
            all.Add(histogram.ToCounts());
        }

        if (runs[0].SubscriberPerSecond is { } first)
        {
            row.SubscriberPerSecond = [.. first.Select((_, i) => Statistics.Median(
                [.. runs.Select(run => run.SubscriberPerSecond![i])]))];
        }

        string[] rates =
        [
            FigureNames.ConsumePerSecond, FigureNames.SendPerSecond, FigureNames.ConsumeMBps, FigureNames.ReadySeconds,
            FigureNames.ResumeSeconds,
        ];
        foreach (string name in rates)
        {
            double[] values = runs.Select(run => run[name]).OfType<double>().ToArray();
            if (values.Length == 0)
                continue;
            row[FigureNames.Spread] = Statistics.Spread(values);
            break;
        }

        foreach (KeyValuePair<string, string> note in runs.SelectMany(run => run.Notes))
            row.Note(note.Key, note.Value);
        return row;
    }

    private void SetPercentiles(string group, LatencyHistogram histogram, double nsOfUnit)
    {
        if (histogram.Count == 0)
            return;
        foreach ((string name, double percent) in FigureNames.Percentiles)
        {
            long durationNs = name == "max" ? histogram.MaxNs : histogram.PercentileNs(percent);
            this[FigureNames.Of(group, name)] = durationNs / nsOfUnit;
        }
    }
}
