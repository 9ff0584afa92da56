using System.Globalization;
using System.Text;
using Spectre.Console;

namespace EQueue.Load.Reporting;

/// <summary>
/// The report as a table for people: parameters that differ between rows, and the figures that were measured.
/// </summary>
internal sealed class ReportTable
{
    private static readonly Column[] Columns =
    [
        new("ready s", FigureNames.ReadySeconds, Thousandths),
        new("counted", FigureNames.Messages, Whole, InFull: true),
        new("seconds", FigureNames.ElapsedSeconds, Thousandths, InFull: true),
        new("send/s", FigureNames.SendPerSecond, Whole),
        new("consume/s", FigureNames.ConsumePerSecond, Whole),
        new("send MB/s", FigureNames.SendMBps, Tenths, InFull: true),
        new("consume MB/s", FigureNames.ConsumeMBps, Tenths),
        new("send net MB/s", FigureNames.SendNetworkMBps, Tenths, InFull: true),
        new("consume net MB/s", FigureNames.ConsumeNetworkMBps, Tenths, InFull: true),
        new("limit MB/s", FigureNames.LimitMBps, Tenths),
        new("x limit", FigureNames.RatioToLimit, Hundredths),
        new("x first", FigureNames.RatioToFirst, Hundredths),
        new("spread", FigureNames.Spread, Percent),
        new("core to core ns", FigureNames.CoreToCoreNs, Whole),
        new("ack p50 us", FigureNames.Of(FigureNames.AckLatency, "p50"), Tenths),
        new("ack p99 us", FigureNames.Of(FigureNames.AckLatency, "p99"), Tenths),
        new("ack p99.9 us", FigureNames.Of(FigureNames.AckLatency, "p999"), Tenths, InFull: true),
        new("e2e p50 us", FigureNames.Of(FigureNames.EndToEndLatency, "p50"), Tenths),
        new("e2e p99 us", FigureNames.Of(FigureNames.EndToEndLatency, "p99"), Tenths),
        new("e2e p99.9 us", FigureNames.Of(FigureNames.EndToEndLatency, "p999"), Tenths, InFull: true),
        new("fdatasync/s", FigureNames.FdatasyncsPerSecond, Whole),
        new("msg/fdatasync", FigureNames.MessagesPerFdatasync, Tenths),
        new("disk MB/s", FigureNames.DiskWriteMBps, Tenths, InFull: true),
        new("process disk MB/s", FigureNames.ProcessDiskMBps, Tenths, InFull: true),
        new("broker cpu %", FigureNames.Of(FigureNames.Broker, FigureNames.CpuPercent), Whole),
        new("broker MB", FigureNames.Of(FigureNames.Broker, FigureNames.ResidentBytes), Megabytes),
        new("producer cpu %", FigureNames.Of(FigureNames.Producer, FigureNames.CpuPercent), Whole, InFull: true),
        new("producer MB", FigureNames.Of(FigureNames.Producer, FigureNames.ResidentBytes), Megabytes, InFull: true),
        new("consumer cpu %", FigureNames.Of(FigureNames.Consumer, FigureNames.CpuPercent), Whole, InFull: true),
        new("consumer MB", FigureNames.Of(FigureNames.Consumer, FigureNames.ResidentBytes), Megabytes, InFull: true),
        new("producer B/msg", FigureNames.Of(FigureNames.Producer, FigureNames.AllocatedBytesPerMessage), Tenths, true),
        new("consumer B/msg", FigureNames.Of(FigureNames.Consumer, FigureNames.AllocatedBytesPerMessage), Tenths, true),
        new("missing", FigureNames.Missing, Whole, InFull: true),
        new("duplicated", FigureNames.Duplicated, Whole, InFull: true),
        new("reordered", FigureNames.Reordered, Whole, InFull: true),
        new("not in files", FigureNames.Unstored, Whole, InFull: true),
        new("reference", FigureNames.ReferenceValue, Tenths),
        new("reference send/s", FigureNames.ReferenceSend, Whole),
        new("reference p99", FigureNames.ReferenceP99, Tenths),
        new("x reference", FigureNames.ReferenceRatio, Hundredths),
        new("log MB", FigureNames.LogBytes, Megabytes, InFull: true),
        new("replay MB", FigureNames.ReplayBytes, Megabytes, InFull: true),
        new("live MB", FigureNames.LiveBytes, Megabytes, InFull: true),
        new("log/live", FigureNames.LogToLive, Hundredths),
        new("settled/live", FigureNames.SettledToLive, Hundredths),
        new("packed", FigureNames.SegmentsPacked, Whole),
        new("removed", FigureNames.SegmentsRemoved, Whole),
        new("max depth", FigureNames.MaxDepth, Whole),
        new("requests/msg", FigureNames.RequestsPerMessage, Thousandths),
        new("broker MB grown", FigureNames.ResidentGrowth, TenthMegabytes),
        new("settle s", FigureNames.SettleSeconds, Tenths, InFull: true),
        new("fetched MB", FigureNames.FetchedBytes, Megabytes),
        new("of all MB", FigureNames.FetchedBytesOfAll, Megabytes),
        new("bytes 1:", FigureNames.FetchedRatio, Tenths),
        new("read s", FigureNames.ReadSeconds, Hundredths),
        new("of all s", FigureNames.ReadSecondsOfAll, Hundredths),
        new("create s", FigureNames.CreateSeconds, Hundredths),
        new("list s", FigureNames.ListSeconds, Hundredths),
        new("describe s", FigureNames.DescribeSeconds, Hundredths),
        new("waited on cpu %", FigureNames.WatchCpuPercent, Hundredths),
        new("waited on MB", FigureNames.WatchResidentBytes, Megabytes),
        new("reopened MB", FigureNames.ReopenedResidentBytes, Megabytes),
        new("group/manual", FigureNames.GroupToManual, Hundredths),
        .. FigureNames.Changes.SelectMany(OfChange),
        new("came again", FigureNames.Repeated, Whole),
        new("stream MB/s", FigureNames.BareStreamMBps, Tenths),
        new("ping-pong/s", FigureNames.BarePingPongPerSecond, Whole),
        new("oneway/stream", FigureNames.OnewayToStream, Hundredths),
        new("async/oneway", FigureNames.AsyncToOneway, Hundredths),
        new("call:round trip", FigureNames.SyncToPingPong, Hundredths),
        new("ST/s", FigureNames.SendWindowPerSecond, Whole),
        new("RT/s", FigureNames.ReceiveWindowPerSecond, Whole),
        new("ST Mbit/s", FigureNames.SendMegabitsPerSecond, Whole),
        new("RT Mbit/s", FigureNames.ReceiveMegabitsPerSecond, Whole),
        new("all subscribers/s", FigureNames.SubscribersPerSecond, Whole),
        new("blocked batches", FigureNames.BlockedBatches, Whole),
        new("resume s", FigureNames.ResumeSeconds, Thousandths),
        new("producers' connections", FigureNames.OpenConnections, Whole),
        new("send us/op", FigureNames.SendUsPerOperation, Thousandths),
        new("consume us/op", FigureNames.ConsumeUsPerOperation, Thousandths),
        new("idle connections", FigureNames.IdleConnections, Whole),
        new("bytes each", FigureNames.BytesPerConnection, Whole),
        new("opened/s", FigureNames.ConnectionsPerSecond, Whole),
        new("requests", FigureNames.Of(FigureNames.Admin, FigureNames.Count), Whole),
        new("p50 ms", FigureNames.Of(FigureNames.Admin, "p50"), Hundredths),
        new("p99 ms", FigureNames.Of(FigureNames.Admin, "p99"), Hundredths),
        new("p99.9 ms", FigureNames.Of(FigureNames.Admin, "p999"), Hundredths, InFull: true),
        new("max ms", FigureNames.Of(FigureNames.Admin, "max"), Hundredths),
    ];

    /// <summary>In place of what a row does not have.</summary>
    private const string Absent = "-";

    private readonly List<string> _headers = [];
    private readonly List<string[]> _rows = [];
    private readonly List<string> _remarks = [];

    /// <param name="report">What to show.</param>
    /// <param name="inFull">With the figures that a first look does not need.</param>
    public ReportTable(LoadReport report, bool inFull)
    {
        IReadOnlyList<ReportRow> rows = report.Rows;
        if (rows.Count == 0)
            return;
        string[] parameters = rows.SelectMany(row => row.Parameters.Select(each => each.Name)).Distinct().ToArray();
        string[] varying = parameters.Where(name => rows.Select(row => ValueOf(row, name)).Distinct().Count() > 1).ToArray();
        Column[] shown = Columns
            .Where(column => inFull || !column.InFull)
            .Where(column => rows.Any(row => row.Medians[column.Name] is not null))
            .ToArray();
        _headers.AddRange(varying);
        _headers.AddRange(shown.Select(column => column.Header));
        foreach (ReportRow row in rows)
        {
            IEnumerable<string> cells = varying.Select(name => ValueOf(row, name))
                .Concat(shown.Select(each => row.Medians[each.Name] is { } value ? each.Format(value) : "-"));
            _rows.Add([.. cells]);
        }

        IEnumerable<string> fixedOnes = parameters.Except(varying)
            .Where(name => ValueOf(rows[0], name) != Absent)
            .Select(name => $"{name} {ValueOf(rows[0], name)}");
        _remarks.Add($"{report.Scenario}: {string.Join(", ", fixedOnes)}");
        IEnumerable<string> references = rows.Select(row => row.Medians.ReferenceSystem).OfType<string>().Distinct();
        _remarks.AddRange(references.Select(reference => $"reference: {reference}"));
    }

    /// <summary>Prints to standard output: a drawn table on a terminal, plain columns elsewhere.</summary>
    public void Print()
    {
        if (_rows.Count == 0)
            return;
        if (Console.IsOutputRedirected)
        {
            Console.Out.Write(ToPlainText());
            return;
        }

        Table table = new Table().RoundedBorder();
        foreach (string header in _headers)
            table.AddColumn(new TableColumn(Markup.Escape(header)).RightAligned());
        foreach (string[] row in _rows)
            table.AddRow([.. row.Select(Markup.Escape)]);
        AnsiConsole.Write(table);
        foreach (string remark in _remarks)
            AnsiConsole.WriteLine(remark);
    }

    public string ToPlainText()
    {
        var text = new StringBuilder();
        int[] widths = Widths();
        foreach (string[]? row in _rows.Prepend([.. _headers]))
            text.AppendLine(string.Join("  ", row.Select((cell, i) => cell.PadLeft(widths[i]))));
        foreach (string remark in _remarks)
            text.AppendLine(remark);
        return text.ToString();
    }

    public string ToMarkdown()
    {
        var text = new StringBuilder();
        foreach (string remark in _remarks)
            text.AppendLine(remark).AppendLine();
        if (_rows.Count == 0)
            return text.ToString();
        text.Append("| ").AppendJoin(" | ", _headers).AppendLine(" |");
        text.Append('|').Insert(text.Length, "---:|", _headers.Count).AppendLine();
        foreach (string[] row in _rows)
            text.Append("| ").AppendJoin(" | ", row).AppendLine(" |");
        return text.ToString();
    }

    private static Column[] OfChange(string change)
    {
        string group = FigureNames.Of(FigureNames.Rebalance, change);
        return
        [
            new($"{change}s", FigureNames.Of(group, FigureNames.Count), Whole, InFull: true),
            new($"{change} p50 ms", FigureNames.Of(group, "p50"), Tenths),
            new($"{change} p99 ms", FigureNames.Of(group, "p99"), Tenths),
            new($"{change} max ms", FigureNames.Of(group, "max"), Tenths),
        ];
    }

    private int[] Widths() =>
        [.. _headers.Select((header, i) => Math.Max(header.Length, _rows.Max(row => row[i].Length)))];

    private static string ValueOf(ReportRow row, string name) =>
        row.ValueOf(name)?.ToString() ?? Absent;

    private static string Whole(double value) => value.ToString("N0", CultureInfo.InvariantCulture);

    private static string Tenths(double value) => value.ToString("N1", CultureInfo.InvariantCulture);

    private static string Hundredths(double value) => value.ToString("N2", CultureInfo.InvariantCulture);

    private static string Thousandths(double value) => value.ToString("N3", CultureInfo.InvariantCulture);

    private static string Percent(double value) => value.ToString("P0", CultureInfo.InvariantCulture);

    private static string TenthMegabytes(double value) => Tenths(value / 1e6);

    private static string Megabytes(double value) => Whole(value / 1e6);

    private sealed record Column(string Header, string Name, Func<double, string> Format, bool InFull = false);
}
