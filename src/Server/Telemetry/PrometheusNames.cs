using System.Globalization;
using System.Text;

namespace EQueue.Server.Telemetry;

/// <summary>OpenTelemetry's names and values in Prometheus' spelling: dots become underscores, the unit a suffix,
/// counters end with <c>_total</c>.</summary>
internal static class PrometheusNames
{
    public static string OfMetric(string name, string? unit, SeriesKind kind)
    {
        var text = new StringBuilder(Clean(name));
        string suffix = SuffixOf(unit, kind);
        if (suffix.Length > 0 && !text.ToString().EndsWith(suffix, StringComparison.Ordinal))
            text.Append(suffix);
        if (kind == SeriesKind.Counter)
            text.Append("_total");
        return text.ToString();
    }

    /// <summary>Labels in the order of their names, between commas, without braces; empty for none.</summary>
    public static string OfLabels(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        if (tags.IsEmpty)
            return "";
        KeyValuePair<string, object?>[] sorted = tags.ToArray();
        Array.Sort(sorted, static (one, other) => string.CompareOrdinal(one.Key, other.Key));
        var text = new StringBuilder();
        foreach ((string name, object? value) in sorted)
        {
            if (text.Length > 0)
                text.Append(',');
            string spelt = Convert.ToString(value, CultureInfo.InvariantCulture) ?? "";
            text.Append(Clean(name)).Append("=\"").Append(EscapeLabel(spelt)).Append('"');
        }

        return text.ToString();
    }

    public static string EscapeHelp(string text) =>
        text.Replace("\\", @"\\", StringComparison.Ordinal).Replace("\n", @"\n", StringComparison.Ordinal);

    public static string OfNumber(double value) => value switch
    {
        double.PositiveInfinity => "+Inf",
        double.NegativeInfinity => "-Inf",
        _ => value.ToString("R", CultureInfo.InvariantCulture),
    };

    private static string EscapeLabel(string text) =>
        EscapeHelp(text).Replace("\"", "\\\"", StringComparison.Ordinal);

    private static string SuffixOf(string? unit, SeriesKind kind) => unit switch
    {
        "s" => "_seconds",
        "ms" => "_milliseconds",
        "By" => "_bytes",
        "1" when kind == SeriesKind.Gauge => "_ratio",
        _ => "",
    };

    /// <summary>Letters, digits and underscores; never a digit first.</summary>
    private static string Clean(string name)
    {
        var text = new StringBuilder(name.Length + 1);
        if (name.Length == 0 || char.IsAsciiDigit(name[0]))
            text.Append('_');
        foreach (char one in name)
            text.Append(char.IsAsciiLetterOrDigit(one) ? one : '_');
        return text.ToString();
    }
}
