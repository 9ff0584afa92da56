using System.Globalization;
using System.Text;
using Spectre.Console;

namespace EQueue.Load.Reporting;

/// <summary>The report as a table for people: parameters that differ between rows, and the figures that were measured.</summary>
internal sealed class ReportTable
{
    private static readonly (string Header, string Name, Func<double, string> Format)[] Columns =
    [
        ("send/s", FigureNames.SendPerSecond, Whole),
        ("consume/s", FigureNames.ConsumePerSecond, Whole),
        ("send MB/s", FigureNames.SendMBps, Tenths),
        ("consume MB/s", FigureNames.ConsumeMBps, Tenths),
        ("limit MB/s", FigureNames.LimitMBps, Tenths),
        ("x limit", FigureNames.RatioToLimit, Hundredths),
        ("spread", FigureNames.Spread, Percent),
        ("ack p50 us", FigureNames.Of(FigureNames.AckLatency, "p50"), Tenths),
        ("ack p99 us", FigureNames.Of(FigureNames.AckLatency, "p99"), Tenths),
        ("ack p99.9 us", FigureNames.Of(FigureNames.AckLatency, "p999"), Tenths),
        ("e2e p50 us", FigureNames.Of(FigureNames.EndToEndLatency, "p50"), Tenths),
        ("e2e p99 us", FigureNames.Of(FigureNames.EndToEndLatency, "p99"), Tenths),
        ("e2e p99.9 us", FigureNames.Of(FigureNames.EndToEndLatency, "p999"), Tenths),
        ("fdatasync/s", FigureNames.FdatasyncsPerSecond, Whole),
        ("msg/fdatasync", FigureNames.MessagesPerFdatasync, Tenths),
        ("disk MB/s", FigureNames.DiskWriteMBps, Tenths),
        ("broker cpu %", FigureNames.Of(FigureNames.Broker, FigureNames.CpuPercent), Whole),
        ("broker MB", FigureNames.Of(FigureNames.Broker, FigureNames.ResidentBytes), Megabytes),
        ("producer cpu %", FigureNames.Of(FigureNames.Producer, FigureNames.CpuPercent), Whole),
        ("consumer cpu %", FigureNames.Of(FigureNames.Consumer, FigureNames.CpuPercent), Whole),
        ("producer B/msg", FigureNames.Of(FigureNames.Producer, FigureNames.AllocatedBytesPerMessage), Tenths),
        ("consumer B/msg", FigureNames.Of(FigureNames.Consumer, FigureNames.AllocatedBytesPerMessage), Tenths),
        ("missing", FigureNames.Missing, Whole),
        ("duplicated", FigureNames.Duplicated, Whole),
        ("reordered", FigureNames.Reordered, Whole),
        ("reference", FigureNames.ReferenceValue, Tenths),
    ];

    private readonly List<string> _headers = [];
    private readonly List<string[]> _rows = [];
    private readonly List<string> _remarks = [];

    public ReportTable(LoadReport report)
    {
        var rows = report.Rows;
        if (rows.Count == 0)
            return;
        var parameters = rows[0].Parameters.Select(parameter => parameter.Name).ToArray();
        var varying = parameters.Where(name => rows.Select(row => ValueOf(row, name)).Distinct().Count() > 1).ToArray();
        var shown = Columns.Where(column => rows.Any(row => row.Medians[column.Name] is not null)).ToArray();
        _headers.AddRange(varying);
        _headers.AddRange(shown.Select(column => column.Header));
        foreach (var row in rows)
        {
            var cells = varying.Select(name => ValueOf(row, name))
                .Concat(shown.Select(each => row.Medians[each.Name] is { } value ? each.Format(value) : "-"));
            _rows.Add([.. cells]);
        }

        var fixedOnes = parameters.Except(varying).Select(name => $"{name} {ValueOf(rows[0], name)}");
        _remarks.Add($"{report.Scenario}: {string.Join(", ", fixedOnes)}");
        var references = rows.Select(row => row.Medians.ReferenceSystem).OfType<string>().Distinct();
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

        var table = new Table().RoundedBorder();
        foreach (var header in _headers)
            table.AddColumn(new TableColumn(Markup.Escape(header)).RightAligned());
        foreach (var row in _rows)
            table.AddRow([.. row.Select(Markup.Escape)]);
        AnsiConsole.Write(table);
        foreach (var remark in _remarks)
            AnsiConsole.WriteLine(remark);
    }

    public string ToPlainText()
    {
        var text = new StringBuilder();
        var widths = Widths();
        foreach (var row in _rows.Prepend([.. _headers]))
            text.AppendLine(string.Join("  ", row.Select((cell, i) => cell.PadLeft(widths[i]))));
        foreach (var remark in _remarks)
            text.AppendLine(remark);
        return text.ToString();
    }

    public string ToMarkdown()
    {
        var text = new StringBuilder();
        foreach (var remark in _remarks)
            text.AppendLine(remark).AppendLine();
        if (_rows.Count == 0)
            return text.ToString();
        text.Append("| ").AppendJoin(" | ", _headers).AppendLine(" |");
        text.Append('|').Insert(text.Length, "---:|", _headers.Count).AppendLine();
        foreach (var row in _rows)
            text.Append("| ").AppendJoin(" | ", row).AppendLine(" |");
        return text.ToString();
    }

    private int[] Widths() =>
        [.. _headers.Select((header, i) => Math.Max(header.Length, _rows.Max(row => row[i].Length)))];

    private static string ValueOf(ReportRow row, string name) =>
        row.Parameters.First(parameter => parameter.Name == name).Value?.ToString() ?? "-";

    private static string Whole(double value) => value.ToString("N0", CultureInfo.InvariantCulture);

    private static string Tenths(double value) => value.ToString("N1", CultureInfo.InvariantCulture);

    private static string Hundredths(double value) => value.ToString("N2", CultureInfo.InvariantCulture);

    private static string Percent(double value) => value.ToString("P0", CultureInfo.InvariantCulture);

    private static string Megabytes(double value) => Whole(value / 1e6);
}
