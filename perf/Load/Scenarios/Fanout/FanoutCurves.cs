using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>The curves of <c>fanout</c>: messages and megabits a second of each part, and each subscriber.</summary>
internal static class FanoutCurves
{
    public static IEnumerable<Curve> Of(IEnumerable<ReportRow> rows) =>
        rows.GroupBy(row => (string)row.ValueOf("part")!).SelectMany(part => Of(part.Key, [.. part]));

    private static IEnumerable<Curve> Of(string part, ReportRow[] rows)
    {
        (string parameter, string label) = part switch
        {
            "numbers" => ("messages", "messages"),
            "sizes" => ("size", "bytes of a message"),
            _ => ("subscribers", "subscribers"),
        };
        yield return Lines(
            $"fanout-{part}", label, "messages/s", parameter, rows,
            [
                ("sent (ST)", FigureNames.SendWindowPerSecond),
                ("received (RT)", FigureNames.ReceiveWindowPerSecond),
                ("first to last", FigureNames.ConsumePerSecond),
                ("all subscribers", FigureNames.SubscribersPerSecond),
            ]);
        yield return Lines(
            $"fanout-{part}-megabits", label, "megabits/s", parameter, rows,
            [
                ("sent (ST)", FigureNames.SendMegabitsPerSecond),
                ("received (RT)", FigureNames.ReceiveMegabitsPerSecond),
            ]);
        IEnumerable<double?[]> each =
            from row in rows
            from rate in row.Medians.SubscriberPerSecond ?? []
            select new double?[] { Number(row, parameter), rate };
        yield return new Curve(
            $"fanout-{part}-each", $"{part}: each subscriber", label, "messages/s", ["each"], [.. each])
        {
            Style = CurveStyle.Points,
        };
    }

    private static Curve Lines(
        string name,
        string label,
        string unit,
        string parameter,
        IReadOnlyList<ReportRow> rows,
        IReadOnlyList<(string Title, string Figure)> lines)
    {
        double?[][] points = [.. rows.Select(row => lines
            .Select(line => row.Medians[line.Figure])
            .Prepend(Number(row, parameter))
            .ToArray())];
        return new Curve(name, name, label, unit, [.. lines.Select(line => line.Title)], points);
    }

    private static double? Number(ReportRow row, string name) => (int)row.ValueOf(name)!;
}
