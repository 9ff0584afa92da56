using EQueue.Load.Measuring;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>The curves of <c>latency</c>: how long which share of the messages took at most, a line a row.</summary>
internal static class LatencyCurves
{
    private const int PointsOfTenfold = 10;

    public static IEnumerable<Curve> Of(string name, IReadOnlyList<ReportRow> rows) =>
    [
        .. Of($"{name}-end-to-end", "From the due time to the consumer", FigureNames.EndToEndLatency, rows),
        .. Of($"{name}-ack", "From the due time to the receipt", FigureNames.AckLatency, rows),
    ];

    private static IEnumerable<Curve> Of(string name, string title, string group, IReadOnlyList<ReportRow> rows)
    {
        (ReportRow Row, LatencyHistogram? Histogram)[] timed = rows
            .Select(row => (Row: row, Histogram: row.Medians.Histograms.GetValueOrDefault(group)))
            .Where(each => each.Histogram is { Count: > 0 })
            .ToArray();
        if (timed.Length == 0)
            yield break;
        long most = timed.Max(each => each.Histogram!.Count);
        IEnumerable<double?[]> points = Enumerable.Range(1, int.MaxValue)
            .Select(step => Math.Pow(10, (double)step / PointsOfTenfold))
            .TakeWhile(inverse => inverse <= most)
            .Select(inverse => timed
                .Select(each => MicrosecondsAt(each.Histogram!, inverse))
                .Prepend(inverse)
                .ToArray());
        yield return new Curve(
            name, title, "messages that took at most so long", "us", [.. timed.Select(each => TitleOf(each.Row))],
            [.. points])
        {
            Style = CurveStyle.Percentiles,
        };
    }

    /// <summary>Null where fewer messages were timed than the share tells apart.</summary>
    private static double? MicrosecondsAt(LatencyHistogram histogram, double inverse) =>
        inverse > histogram.Count ? null : histogram.PercentileNs(100 * (1 - (1 / inverse))) / 1e3;

    private static string TitleOf(ReportRow row) =>
        $"{row.ValueOf("rate")}/s, {row.ValueOf("flush")}, {row.ValueOf("size")} B";
}
