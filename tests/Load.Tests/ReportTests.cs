using System.Text.Json;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Scenarios;
using EQueue.Support;

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
        JsonElement json = WriteJson(Run(100), Run(300), Run(200));

        foreach (string path in ContractPaths)
            Assert.True(Find(json, path) is not null, $"{path} is missing");
        Assert.Equal(200, Find(json, "rows.0.consumePerSecond")!.Value.GetDouble());
        Assert.Equal(1, Find(json, "rows.0.spread")!.Value.GetDouble());
        JsonElement row = Find(json, "rows.0")!.Value;
        JsonElement notes = row.GetProperty("notes");
        foreach (string name in FigureNames.All)
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
        Figures run = Run(987_654);
        run.SetCheck(new CheckResult(1, 0, 0, 0));
        run.Discredit();
        LoadReport report = Report(run);

        // Not three digits alone: the hash of the commit may have them.
        const string rate = "\\b987,?654";
        Assert.DoesNotMatch(rate, JsonReport.Write(report));
        Assert.DoesNotMatch(rate, new ReportTable(report, inFull: true).ToPlainText());
        Assert.DoesNotMatch(rate, MarkdownReport.Write(report, NoPictures));
        Assert.Equal(1, report.Rows[0].Medians[FigureNames.Missing]);
    }

    [Fact]
    public void GivenSeveralScenariosInOneReport_WhenWrittenAsMarkdown_ThenTargetsAreJudgedAndTablesAreLinked()
    {
        var all = new LoadReport("all");
        all.AddSection(ThroughputSection("throughput", size: 128, "message", ratioToLimit: 0.7));
        all.AddSection(ThroughputSection("throughput, span", size: 128, "span", ratioToLimit: 0.9));
        all.AddSection(ThroughputSection("throughput, more", size: 512, "message", ratioToLimit: 0.4));
        ILookup<LoadReport, string> pictures = new[] { "pictures/bars.svg" }.ToLookup(_ => all.Sections[1]);

        string page = MarkdownReport.Write(all, pictures);

        string[] expected =
        [
            "| 1 + 1, async flush, 128 B: ratio to limit | >= 0.5 | >= 0.85 | 0.7 | yes | **no** |",
            "| 1 + 1, async flush, 512 B: ratio to limit | >= 0.55 | >= 0.85 | 0.4 | **no** | **no** |",
            "2048 B: ratio to limit | >= 0.6 | >= 0.85 | - | not measured | not measured |",
            "| broker's memory under 128 B, MB | <= 200 | <= 100 | 150 | yes | **no** |",
            "- [throughput, span](#table-2): 1 row",
        ];
        Assert.All(expected, text => Assert.Contains(text, page, StringComparison.Ordinal));
        string[] tables = page.Split("<a id=\"table-");
        Assert.Equal(4, tables.Length);
        Assert.Contains("![bars](pictures/bars.svg)", tables[2], StringComparison.Ordinal);
        Assert.DoesNotContain("## Targets", MarkdownReport.Write(all.Sections[0], pictures), StringComparison.Ordinal);
    }

    [Fact]
    public void GivenLatencies_WhenTheirCurvesAreDrawn_ThenEachLineEndsWhereItsMessagesDo()
    {
        var report = new LoadReport("latency");
        report.Add(Timed(rate: 10, [.. Enumerable.Range(1, 10).Select(us => us * 1000L)]));
        report.Add(Timed(rate: 100, [.. Enumerable.Range(1, 100).Select(us => us * 1000L)]));

        Curve curve = Assert.Single(Pictures.Of(report));

        Assert.Equal(["10/s, async, 128 B", "100/s, async, 128 B"], curve.Lines);
        Assert.Equal(20, curve.Points.Count);
        Assert.Equal(9, curve.Points[9][1]!.Value, tolerance: 0.1);
        Assert.Equal(90, curve.Points[9][2]!.Value, tolerance: 1);
        Assert.All(curve.Points.Skip(10), point => Assert.Null(point[1]));
        Assert.Equal(99, curve.Points[^1][2]!.Value, tolerance: 1);
        Assert.Contains("set logscale xy", curve.ToScript(), StringComparison.Ordinal);
    }

    [Fact]
    public void GivenACurveOfEachStyle_WhenWritten_ThenGnuplotDrawsItWhereItIs()
    {
        DirectoryInfo folder = Directory.CreateTempSubdirectory("equeue-curves-");
        try
        {
            Curve[] curves = [.. Enum.GetValues<CurveStyle>().Select(style => new Curve(
                $"{style}", "it's a title", "x", "y", ["one", "two's"], [[1, 2, null], [2, 3, 4]]) { Style = style })];

            IReadOnlyList<Curve> drawn = Curve.Write(folder.FullName, curves);

            Assert.Equal(ToolRun.IsInstalled("gnuplot") ? curves : [], drawn);
            Assert.All(curves, curve => Assert.True(File.Exists(Path.Combine(folder.FullName, $"{curve.Name}.gnuplot"))));
            Assert.All(drawn, curve => Assert.True(File.Exists(Path.Combine(folder.FullName, $"{curve.Name}.svg"))));
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }

    [Fact]
    public void GivenPairsAndSizes_WhenTheirBarsAreDrawn_ThenEachSizeIsAGroupAndWhatIsMissingIsLeftOut()
    {
        var report = new LoadReport("throughput") { Title = "throughput, 1,000 queues" };
        foreach ((int pair, int size) in new[] { (1, 128), (1, 512), (2, 128) })
        {
            var run = new Figures { [FigureNames.ConsumePerSecond] = pair * size };
            report.Add(new ReportRow(
                [("size", size), ("producers", pair), ("consumers", pair)], [run], "not part of it"));
        }

        IReadOnlyList<Curve> curves = Pictures.Of(report);

        Assert.Equal(
            ["throughput-1000-queues-messages", "throughput-1000-queues-megabytes"], curves.Select(each => each.Name));
        Assert.Equal(
            "# bytes of a message\t1 + 1 consumed\t2 + 2 consumed\n128\t128\t256\n512\t512\tNaN\n",
            curves[0].ToTable());
        Assert.Contains("using 2:xtic(1) title '1 + 1 consumed'", curves[0].ToScript(), StringComparison.Ordinal);
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

    private static readonly ILookup<LoadReport, string> NoPictures =
        Array.Empty<string>().ToLookup(_ => new LoadReport("none"));

    private static LoadReport ThroughputSection(string title, int size, string api, double ratioToLimit)
    {
        var section = new LoadReport("throughput") { Title = title };
        var run = new Figures
        {
            [FigureNames.RatioToLimit] = ratioToLimit,
            [FigureNames.Of(FigureNames.Broker, FigureNames.ResidentBytes)] = 150e6,
        };
        section.Add(new ReportRow(
            [("size", size), ("producers", 1), ("consumers", 1), ("queues", 4), ("api", api), ("flush", "async")],
            [run],
            "not part of it"));
        return section;
    }

    private static ReportRow Timed(int rate, long[] durationsNs)
    {
        var histogram = new LatencyHistogram();
        Array.ForEach(durationsNs, histogram.Record);
        var run = new Figures();
        run.SetLatency(FigureNames.AckLatency, histogram);
        return new ReportRow([("rate", rate), ("flush", "async"), ("size", 128)], [run], "not part of it");
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
        foreach (string part in path.Split('.'))
        {
            if (element.ValueKind == JsonValueKind.Array)
                element = element[int.Parse(part)];
            else if (!element.TryGetProperty(part, out element))
                return null;
        }

        return element;
    }
}
