using System.Diagnostics.Metrics;

namespace EQueue.Server.Telemetry;

/// <summary>What one instrument has told: a value, or a distribution, for each set of labels.</summary>
/// <remarks>Thread-safe. Told by whatever thread measures, under a lock of its own that is held for a few
/// instructions.</remarks>
internal sealed class InstrumentSeries
{
    /// <summary>Sets of labels that one instrument may have; more of them are not shown.</summary>
    public const int MostSeries = 25_000;

    private static readonly double[] UsualBounds =
        [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

    /// <summary>Levels that .NET declares as counters.</summary>
    private static readonly string[] FallingCounters =
        ["dotnet.thread_pool.queue.length", "dotnet.thread_pool.thread.count"];

    private readonly Lock _gate = new();
    private readonly Dictionary<string, double> _values = new(StringComparer.Ordinal);
    private readonly Dictionary<string, Distribution> _distributions = new(StringComparer.Ordinal);

    /// <summary>What series are about that are about topics or groups, by their labels.</summary>
    private readonly Dictionary<string, SeriesSubject> _subjects = new(StringComparer.Ordinal);
    private readonly double[] _bounds;
    private readonly bool _isLast;

    public InstrumentSeries(Instrument instrument)
    {
        string type = instrument.GetType().Name;
        IsObservable = instrument.IsObservable;
        Kind = KindOf(instrument, type);
        _isLast = type.Contains("Gauge", StringComparison.Ordinal);
        Name = PrometheusNames.OfMetric(instrument.Name, instrument.Unit, Kind);
        Help = instrument.Description ?? "";
        _bounds = instrument is Histogram<double> { Advice.HistogramBucketBoundaries: { } bounds }
            ? [.. bounds]
            : UsualBounds;
    }

    /// <summary>Its name in Prometheus' spelling.</summary>
    public string Name { get; }

    public string Help { get; }

    public SeriesKind Kind { get; }

    public bool IsObservable { get; }

    /// <summary>An observable instrument is about to be asked: what it told last is over.</summary>
    public void BeginRound()
    {
        if (!IsObservable)
            return;
        lock (_gate)
        {
            _values.Clear();
            _subjects.Clear();
        }
    }

    public void Record(double value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        string labels = PrometheusNames.OfLabels(tags);
        lock (_gate)
        {
            if (Kind == SeriesKind.Histogram)
            {
                if (!_distributions.TryGetValue(labels, out Distribution? distribution))
                {
                    if (_distributions.Count >= MostSeries)
                        return;
                    _distributions.Add(labels, distribution = new Distribution(_bounds));
                    Note(labels, tags);
                }

                distribution.Add(value);
            }
            else if (_values.TryGetValue(labels, out double before))
            {
                _values[labels] = _isLast ? value : before + value;
            }
            else if (_values.Count < MostSeries)
            {
                _values.Add(labels, value);
                Note(labels, tags);
            }
        }
    }

    /// <summary>The values by their labels.</summary>
    /// <param name="isShown">Which of those about topics or groups; null = all.</param>
    public KeyValuePair<string, double>[] Values(Func<SeriesSubject, bool>? isShown)
    {
        lock (_gate)
            return [.. _values.Where(one => IsShown(one.Key, isShown))];
    }

    /// <summary>The distributions by their labels, as they are now.</summary>
    /// <param name="isShown">Which of those about topics or groups; null = all.</param>
    public KeyValuePair<string, Distribution>[] Distributions(Func<SeriesSubject, bool>? isShown)
    {
        lock (_gate)
        {
            return
            [
                .. _distributions.Where(one => IsShown(one.Key, isShown))
                    .Select(static one => KeyValuePair.Create(one.Key, one.Value.Copy())),
            ];
        }
    }

    private bool IsShown(string labels, Func<SeriesSubject, bool>? isShown) =>
        isShown is null || !_subjects.TryGetValue(labels, out SeriesSubject subject) || isShown(subject);

    private void Note(string labels, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        if (SeriesSubject.Find(tags) is { } subject)
            _subjects[labels] = subject;
    }

    private static SeriesKind KindOf(Instrument instrument, string type)
    {
        if (type.Contains("Histogram", StringComparison.Ordinal))
            return SeriesKind.Histogram;
        return type.Contains("UpDown", StringComparison.Ordinal) || type.Contains("Gauge", StringComparison.Ordinal)
            || FallingCounters.Contains(instrument.Name)
                ? SeriesKind.Gauge
                : SeriesKind.Counter;
    }
}

/// <summary>What Prometheus calls an instrument.</summary>
internal enum SeriesKind
{
    /// <summary>Only rises.</summary>
    Counter,

    /// <summary>Goes up and down.</summary>
    Gauge,

    /// <summary>A distribution over buckets.</summary>
    Histogram,
}
