using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>The bars of <c>throughput</c>: by body size, for each number of producers and consumers.</summary>
internal static class ThroughputCurves
{
    public static IEnumerable<Curve> Of(string name, IReadOnlyList<ReportRow> rows) =>
    [
        Bars(
            $"{name}-messages", "messages/s", rows,
            [
                ("sent", FigureNames.SendPerSecond),
                ("consumed", FigureNames.ConsumePerSecond),
                ("EQueue 2.0", FigureNames.ReferenceValue),
            ]),
        Bars(
            $"{name}-megabytes", "MB/s of bodies", rows,
            [("consumed", FigureNames.ConsumeMBps), ("limit", FigureNames.LimitMBps)]),
    ];

    private static Curve Bars(
        string name, string unit, IReadOnlyList<ReportRow> rows, IReadOnlyList<(string Title, string Figure)> figures)
    {
        (string Pair, string Title, string Figure)[] bars =
            (from pair in rows.Select(PairOf).Distinct()
             from figure in figures
             where rows.Any(row => PairOf(row) == pair && row.Medians[figure.Figure] is not null)
             select (Pair: pair, figure.Title, figure.Figure)).ToArray();
        IEnumerable<double?[]> groups =
            from size in rows.Select(row => (int)row.ValueOf("size")!).Distinct()
            select bars
                .Select(bar => rows.FirstOrDefault(row => Equals(row.ValueOf("size"), size) && PairOf(row) == bar.Pair)
                    ?.Medians[bar.Figure])
                .Prepend(size)
                .ToArray();
        return new Curve(
            name, name, "bytes of a message", unit, [.. bars.Select(bar => $"{bar.Pair} {bar.Title}")], [.. groups])
        {
            Style = CurveStyle.Bars,
        };
    }

    private static string PairOf(ReportRow row) => $"{row.ValueOf("producers")} + {row.ValueOf("consumers")}";
}
