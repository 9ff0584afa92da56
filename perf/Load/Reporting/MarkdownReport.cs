using System.Text;

namespace EQueue.Load.Reporting;

/// <summary>The report as a page to keep beside others.</summary>
internal static class MarkdownReport
{
    /// <param name="pictures">Of each report or section, paths as seen from the page.</param>
    public static string Write(LoadReport report, ILookup<LoadReport, string> pictures)
    {
        var page = new StringBuilder();
        page.Append("# ").Append(report.Title).AppendLine().AppendLine();
        page.Append($"Commit {report.Commit ?? "unknown"}, {report.CpuCount} CPUs, ");
        page.Append(report.MemoryBytes is { } bytes ? $"{bytes / 1_000_000_000.0:F1} GB memory" : "memory unknown");
        page.Append(", ").Append(report.Kernel).AppendLine(".").AppendLine();
        page.AppendLine("Medians over the runs; MB = 10^6 bytes of bodies; cpu 100 = one core.").AppendLine();
        page.Append(new ReportTable(report, inFull: true).ToMarkdown());
        AppendPictures(page, pictures[report]);
        foreach (string failure in report.Failures)
            page.Append("Failed: ").AppendLine(failure).AppendLine();
        if (report.Sections.Count == 0)
            return page.ToString();
        AppendTargets(page, report);
        AppendContents(page, report);
        foreach ((int number, LoadReport section) in report.Sections.Index())
        {
            page.AppendLine().AppendLine($"<a id=\"{AnchorOf(number)}\"></a>").AppendLine();
            page.Append("## ").AppendLine(section.Title).AppendLine();
            page.Append(new ReportTable(section, inFull: true).ToMarkdown());
            AppendPictures(page, pictures[section]);
        }

        return page.ToString();
    }

    private static string AnchorOf(int number) => $"table-{number + 1}";

    /// <summary>Each target with what the report's JSON has of it.</summary>
    private static void AppendTargets(StringBuilder page, LoadReport report)
    {
        var rows = new MeasuredRows(JsonReport.Write(report));
        page.AppendLine("## Targets").AppendLine();
        page.AppendLine("| what | must | aim | measured | must reached | aim reached |");
        page.AppendLine("|---|---:|---:|---:|---|---|");
        foreach (Target target in TargetList.All)
            page.Append("| ").AppendJoin(" | ", target.Judge(rows)).AppendLine(" |");
        page.AppendLine();
    }

    private static void AppendContents(StringBuilder page, LoadReport report)
    {
        page.AppendLine("## Tables").AppendLine();
        foreach ((int number, LoadReport section) in report.Sections.Index())
        {
            int count = section.Rows.Count;
            page.AppendLine($"- [{section.Title}](#{AnchorOf(number)}): {count} row{(count == 1 ? "" : "s")}");
        }
    }

    private static void AppendPictures(StringBuilder page, IEnumerable<string> paths)
    {
        foreach (string path in paths)
            page.AppendLine().AppendLine($"![{Path.GetFileNameWithoutExtension(path)}]({path})");
    }
}
