using System.Text;

namespace EQueue.Load.Reporting;

/// <summary>The report as a page to keep beside others.</summary>
internal static class MarkdownReport
{
    public static string Write(LoadReport report)
    {
        var page = new StringBuilder();
        page.Append("# ").Append(report.Scenario).AppendLine().AppendLine();
        page.Append($"Commit {report.Commit ?? "unknown"}, {report.CpuCount} CPUs, ");
        page.Append(report.MemoryBytes is { } bytes ? $"{bytes / 1_000_000_000.0:F1} GB memory" : "memory unknown");
        page.Append(", ").Append(report.Kernel).AppendLine(".").AppendLine();
        page.AppendLine("Medians over the runs; MB = 10^6 bytes of bodies; cpu 100 = one core.").AppendLine();
        page.Append(new ReportTable(report, inFull: true).ToMarkdown());
        foreach (var failure in report.Failures)
            page.Append("Failed: ").AppendLine(failure).AppendLine();
        foreach (var section in report.Sections)
        {
            page.AppendLine().Append("## ").AppendLine(section.Title).AppendLine();
            page.Append(new ReportTable(section, inFull: true).ToMarkdown());
        }

        return page.ToString();
    }
}
