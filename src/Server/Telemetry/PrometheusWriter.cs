using System.Text;

namespace EQueue.Server.Telemetry;

/// <summary>Prometheus' text format 0.0.4: for each metric HELP, TYPE, then a line for each of its series.</summary>
/// <param name="isShown">Which series about topics or groups; null = all.</param>
internal sealed class PrometheusWriter(Func<SeriesSubject, bool>? isShown)
{
    /// <summary>What the page is, for the answer's Content-Type.</summary>
    public const string ContentType = "text/plain; version=0.0.4; charset=utf-8";

    private readonly StringBuilder _text = new();

    /// <summary>Writes a metric, which several instruments may share.</summary>
    public void Write(string name, IReadOnlyList<InstrumentSeries> instruments)
    {
        InstrumentSeries first = instruments[0];
        if (first.Help.Length > 0)
            _text.Append($"# HELP {name} {PrometheusNames.EscapeHelp(first.Help)}\n");
        _text.Append($"# TYPE {name} {Spell(first.Kind)}\n");
        var written = new HashSet<string>(StringComparer.Ordinal);
        foreach (InstrumentSeries instrument in instruments)
        {
            if (instrument.Kind != first.Kind)
                continue;
            foreach ((string labels, double value) in instrument.Values(isShown))
            {
                if (written.Add(labels))
                    WriteLine(name, labels, PrometheusNames.OfNumber(value));
            }

            foreach ((string labels, Distribution distribution) in instrument.Distributions(isShown))
            {
                if (written.Add(labels))
                    Write(name, labels, distribution);
            }
        }
    }

    public byte[] ToArray() => Encoding.UTF8.GetBytes(_text.ToString());

    private void Write(string name, string labels, Distribution distribution)
    {
        string before = labels.Length == 0 ? "" : labels + ",";
        long count = 0;
        for (int i = 0; i < distribution.Counts.Count; i++)
        {
            count += distribution.Counts[i];
            double bound = i < distribution.Bounds.Count ? distribution.Bounds[i] : double.PositiveInfinity;
            WriteLine($"{name}_bucket", $"{before}le=\"{PrometheusNames.OfNumber(bound)}\"", $"{count}");
        }

        WriteLine($"{name}_sum", labels, PrometheusNames.OfNumber(distribution.Sum));
        WriteLine($"{name}_count", labels, $"{count}");
    }

    private void WriteLine(string name, string labels, string value)
    {
        _text.Append(name);
        if (labels.Length > 0)
            _text.Append('{').Append(labels).Append('}');
        _text.Append(' ').Append(value).Append('\n');
    }

    private static string Spell(SeriesKind kind) => kind switch
    {
        SeriesKind.Counter => "counter",
        SeriesKind.Gauge => "gauge",
        _ => "histogram",
    };
}
