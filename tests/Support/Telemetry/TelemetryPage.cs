using System.Diagnostics.Metrics;

namespace EQueue.Support;

/// <summary>docs/telemetry.md, to be held against the instruments that there are.</summary>
public static class TelemetryPage
{
    /// <summary>What of an instrument the page does not tell, or tells otherwise; empty when all is right.</summary>
    public static IReadOnlyList<string> Miss(IEnumerable<Instrument> instruments)
    {
        string[] rows =
        [
            .. File.ReadAllLines(Path.Combine(FindRoot(), "docs", "telemetry.md"))
                .Where(line => line.StartsWith("| `", StringComparison.Ordinal)),
        ];
        var missed = new List<string>();
        foreach (Instrument instrument in instruments.DistinctBy(instrument => instrument.Name))
        {
            string? row = rows.FirstOrDefault(row =>
                row.Split('|')[1].Contains($"`{instrument.Name}`", StringComparison.Ordinal));
            if (row is null)
                missed.Add($"{instrument.Name} is not on the page");
            else if (!row.Contains($"`{instrument.Unit}`", StringComparison.Ordinal))
                missed.Add($"{instrument.Name} has unit {instrument.Unit}: {row}");
            else if (!row.Split('|')[2].Contains(KindOf(instrument), StringComparison.Ordinal))
                missed.Add($"{instrument.Name} is a {KindOf(instrument)}: {row}");
        }

        return missed;
    }

    private static string KindOf(Instrument instrument)
    {
        string type = instrument.GetType().Name;
        return type.Contains("UpDown", StringComparison.Ordinal) ? "up-down"
            : type.Contains("Counter", StringComparison.Ordinal) ? "counter"
            : type.Contains("Histogram", StringComparison.Ordinal) ? "histogram"
            : "gauge";
    }

    private static string FindRoot()
    {
        string? directory = AppContext.BaseDirectory;
        while (directory is not null && !File.Exists(Path.Combine(directory, "EQueue.sln")))
            directory = Path.GetDirectoryName(directory);
        return directory ?? throw new InvalidOperationException("No EQueue.sln above the tests.");
    }
}
