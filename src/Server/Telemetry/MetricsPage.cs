using System.Diagnostics.Metrics;
using EQueue.Broker;
using EQueue.Cluster;

namespace EQueue.Server.Telemetry;

/// <summary>Listens to the meters of the broker and the node and to .NET's own, and writes what they tell as a page for
/// Prometheus.</summary>
/// <remarks>
/// Listens from when it is made, so that histograms are whole. Observable instruments are asked when the page is; one
/// page is written at a time.
/// </remarks>
internal sealed class MetricsPage : IDisposable
{
    /// <summary>The meters shown.</summary>
    public static readonly string[] Meters = [BrokerTelemetry.MeterName, ClusterTelemetry.MeterName, "System.Runtime"];

    private readonly MeterListener _listener = new();
    private readonly Lock _gate = new();
    private readonly Lock _pageGate = new();
    private readonly List<InstrumentSeries> _instruments = [];
    private readonly ILogger _logger;

    public MetricsPage(ILogger logger)
        : this(static meter => Meters.Contains(meter.Name), logger)
    {
    }

    /// <param name="isShown">Which meters.</param>
    /// <param name="logger">Told of instruments that cannot be read.</param>
    public MetricsPage(Func<Meter, bool> isShown, ILogger logger)
    {
        _logger = logger;
        _listener.InstrumentPublished = (instrument, listener) =>
        {
            if (isShown(instrument.Meter))
                listener.EnableMeasurementEvents(instrument, Open(instrument));
        };
        _listener.MeasurementsCompleted = (_, state) => Close((InstrumentSeries)state!);
        _listener.SetMeasurementEventCallback<double>(static (_, value, tags, state) => Record(value, tags, state));
        _listener.SetMeasurementEventCallback<float>(static (_, value, tags, state) => Record(value, tags, state));
        _listener.SetMeasurementEventCallback<long>(static (_, value, tags, state) => Record(value, tags, state));
        _listener.SetMeasurementEventCallback<int>(static (_, value, tags, state) => Record(value, tags, state));
        _listener.SetMeasurementEventCallback<short>(static (_, value, tags, state) => Record(value, tags, state));
        _listener.SetMeasurementEventCallback<byte>(static (_, value, tags, state) => Record(value, tags, state));
        _listener.Start();
    }

    /// <summary>The page as of now, in Prometheus' text format 0.0.4.</summary>
    /// <param name="isShown">Which series about topics or groups; null = all.</param>
    public byte[] Write(Func<SeriesSubject, bool>? isShown)
    {
        lock (_pageGate)
        {
            InstrumentSeries[] instruments;
            lock (_gate)
                instruments = [.. _instruments];
            foreach (InstrumentSeries instrument in instruments)
                instrument.BeginRound();
            Observe();
            var writer = new PrometheusWriter(isShown);
            foreach (IGrouping<string, InstrumentSeries> family in instruments
                .GroupBy(static instrument => instrument.Name, StringComparer.Ordinal)
                .OrderBy(static family => family.Key, StringComparer.Ordinal))
            {
                writer.Write(family.Key, [.. family]);
            }

            return writer.ToArray();
        }
    }

    public void Dispose() => _listener.Dispose();

    private void Observe()
    {
        try
        {
            _listener.RecordObservableInstruments();
        }
        catch (Exception exception)
        {
            // Every instrument was asked all the same.
            Log.InstrumentsFailed(_logger, exception);
        }
    }

    private static void Record(double value, ReadOnlySpan<KeyValuePair<string, object?>> tags, object? state) =>
        ((InstrumentSeries)state!).Record(value, tags);

    private InstrumentSeries Open(Instrument instrument)
    {
        var series = new InstrumentSeries(instrument);
        lock (_gate)
            _instruments.Add(series);
        return series;
    }

    private void Close(InstrumentSeries series)
    {
        lock (_gate)
            _instruments.Remove(series);
    }
}
