using System.Text.Json;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;

namespace EQueue.Load.Tests;

public sealed class ReportTests
{
    private static readonly string[] ContractPaths =
    [
        "schema", "scenario", "commit", "machine.cpus", "machine.memoryBytes", "machine.kernel",
        .. RowPaths("rows.0"), .. RowPaths("rows.0.runs.0"), "rows.0.params.size", "rows.0.runs.2.sendPerSecond",
    ];

    [Fact]
    public void GivenFewFigures_WhenWrittenAsJson_ThenEveryKeyIsThereAndEveryNullHasANote()
    {
        var json = WriteJson(Run(100), Run(300), Run(200));

        foreach (var path in ContractPaths)
            Assert.True(Find(json, path) is not null, $"{path} is missing");
        Assert.Equal(200, Find(json, "rows.0.consumePerSecond")!.Value.GetDouble());
        Assert.Equal(1, Find(json, "rows.0.spread")!.Value.GetDouble());
        var row = Find(json, "rows.0")!.Value;
        var notes = row.GetProperty("notes");
        foreach (var name in FigureNames.All)
        {
            if (Find(row, name)!.Value.ValueKind == JsonValueKind.Null)
                Assert.False(string.IsNullOrEmpty(notes.GetProperty(name).GetString()), name);
        }

        Assert.Equal("bodies are too small", notes.GetProperty("latencyUs.endToEnd.p50").GetString());
        Assert.Equal("not part of it", notes.GetProperty("limitMBps").GetString());
    }

    [Fact]
    public void GivenWrongData_WhenDiscredited_ThenNoRateIsWrittenAnywhere()
    {
        var run = Run(987_654);
        run.SetCheck(new CheckResult(1, 0, 0, 0));
        run.Discredit();
        var report = Report(run);

        Assert.DoesNotContain("987", JsonReport.Write(report), StringComparison.Ordinal);
        Assert.DoesNotContain("987", new ReportTable(report, inFull: true).ToPlainText(), StringComparison.Ordinal);
        Assert.DoesNotContain("987", MarkdownReport.Write(report), StringComparison.Ordinal);
        Assert.Equal(1, report.Rows[0].Medians[FigureNames.Missing]);
    }

    [Fact]
    public void GivenAFigureOfUnknownName_WhenSet_ThenItIsRefused()
    {
        var figures = new Figures();

        Assert.Throws<ArgumentException>(() => figures["rate"] = 1);
    }

    [Theory]
    [InlineData(new[] { 5.0 }, 5, 0)]
    [InlineData(new[] { 4.0, 1, 3 }, 3, 1)]
    [InlineData(new[] { 4.0, 2 }, 3, 2 / 3.0)]
    public void GivenValues_WhenTheirMedianAndSpreadAreTaken_ThenTheyAreRight(
        double[] values, double median, double spread)
    {
        Assert.Equal(median, Statistics.Median(values));
        Assert.Equal(spread, Statistics.Spread(values), 12);
    }

    private static IEnumerable<string> RowPaths(string row)
    {
        string[] roles = ["broker", "producer", "consumer"];
        string[] used = ["cpuPercent", "rssBytes", "allocatedBytesPerMessage"];
        string[] latencies = ["ack", "endToEnd"];
        string[] percentiles = ["p50", "p90", "p99", "p999", "max"];
        string[] plain =
        [
            "sendPerSecond", "consumePerSecond", "sendMBps", "consumeMBps", "diskWriteMBps", "spread", "fdatasyncs",
            "bytesWritten", "limitMBps", "ratioToLimit", "missing", "duplicated", "reordered", "reference.system",
            "reference.value",
        ];
        return plain
            .Concat(roles.SelectMany(role => used.Select(name => $"{role}.{name}")))
            .Concat(latencies.SelectMany(latency => percentiles.Select(name => $"latencyUs.{latency}.{name}")))
            .Select(path => $"{row}.{path}");
    }

    private static Figures Run(double rate)
    {
        var run = new Figures { [FigureNames.ConsumePerSecond] = rate };
        run.Note(FigureNames.EndToEndLatency, "bodies are too small");
        return run;
    }

    private static LoadReport Report(params Figures[] runs)
    {
        var report = new LoadReport("throughput");
        report.Add(new ReportRow([("size", 16)], runs, "not part of it"));
        return report;
    }

    private static JsonElement WriteJson(params Figures[] runs)
    {
        using var document = JsonDocument.Parse(JsonReport.Write(Report(runs)));
        return document.RootElement.Clone();
    }

    private static JsonElement? Find(JsonElement element, string path)
    {
        foreach (var part in path.Split('.'))
        {
            if (element.ValueKind == JsonValueKind.Array)
                element = element[int.Parse(part)];
            else if (!element.TryGetProperty(part, out element))
                return null;
        }

        return element;
    }
}
