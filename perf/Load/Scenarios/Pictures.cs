using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>The curves that belong to a scenario's table.</summary>
internal static class Pictures
{
    /// <summary>Of one scenario's report; none for most.</summary>
    public static IReadOnlyList<Curve> Of(LoadReport report)
    {
        string name = NameOf(report.Title);
        return report.Rows.Count == 0 ? [] : report.Scenario switch
        {
            "fanout" => [.. FanoutCurves.Of(report.Rows)],
            "latency" => [.. LatencyCurves.Of(name, report.Rows)],
            "throughput" => [.. ThroughputCurves.Of(name, report.Rows)],
            _ => [],
        };
    }

    /// <summary>A title as the name of a file: <c>throughput, 1,000 queues</c> is <c>throughput-1000-queues</c>.</summary>
    private static string NameOf(string title) =>
        title.Replace(",", string.Empty, StringComparison.Ordinal).Replace(' ', '-');
}
