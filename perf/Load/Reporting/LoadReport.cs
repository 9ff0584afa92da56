using System.Diagnostics;
using System.Globalization;

namespace EQueue.Load.Reporting;

/// <summary>All that one run of the load program found out.</summary>
internal sealed class LoadReport(string scenario)
{
    private readonly List<ReportRow> _rows = [];
    private readonly List<LoadReport> _sections = [];
    private readonly List<string> _failures = [];

    public string Scenario { get; } = scenario;

    /// <summary>What people read above the table.</summary>
    public string Title { get; init; } = scenario;

    public IReadOnlyList<ReportRow> Rows => _rows;

    /// <summary>The reports of several scenarios that were run as one.</summary>
    public IReadOnlyList<LoadReport> Sections => _sections;

    /// <summary>Which of them failed, and why.</summary>
    public IReadOnlyList<string> Failures => _failures;

    /// <summary>The commit of the checkout that this program was built in; null outside one.</summary>
    public string? Commit { get; } = ReadCommit();

    public int CpuCount { get; } = Environment.ProcessorCount;

    public long? MemoryBytes { get; } = ReadMemoryBytes();

    public string Kernel { get; } = ReadKernel();

    public void Add(ReportRow row) => _rows.Add(row);

    public void AddSection(LoadReport section) => _sections.Add(section);

    public void AddFailure(string failure) => _failures.Add(failure);

    /// <summary>Physical memory; null where the system does not say.</summary>
    public static long? ReadMemoryBytes()
    {
        const string file = "/proc/meminfo";
        if (!File.Exists(file))
            return GC.GetGCMemoryInfo().TotalAvailableMemoryBytes;
        string? line = File.ReadLines(file).FirstOrDefault(each => each.StartsWith("MemTotal:", StringComparison.Ordinal));
        string[]? words = line?.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        return words is { Length: >= 2 } && long.TryParse(words[1], CultureInfo.InvariantCulture, out long kilobytes)
            ? kilobytes * 1024
            : null;
    }

    private static string ReadKernel()
    {
        const string file = "/proc/sys/kernel/osrelease";
        return File.Exists(file) ? $"Linux {File.ReadAllText(file).Trim()}" : Environment.OSVersion.VersionString;
    }

    private static string? ReadCommit()
    {
        var start = new ProcessStartInfo("git", ["rev-parse", "HEAD"])
        {
            WorkingDirectory = AppContext.BaseDirectory,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            UseShellExecute = false,
        };
        try
        {
            using Process git = Process.Start(start)!;
            string commit = git.StandardOutput.ReadToEnd().Trim();
            git.WaitForExit();
            return git.ExitCode == 0 && commit.Length > 0 ? commit : null;
        }
        catch (System.ComponentModel.Win32Exception)
        {
            return null;
        }
    }
}

/// <summary>One case of a scenario: its parameters, its runs and their medians.</summary>
internal sealed class ReportRow
{
    /// <param name="parameters">What was set, in the order to show; numbers, texts, truth values or null.</param>
    /// <param name="runs">At least one.</param>
    /// <param name="restNote">Why the figures without a note of their own were not measured.</param>
    public ReportRow(
        IReadOnlyList<(string Name, object? Value)> parameters, IReadOnlyList<Figures> runs, string restNote)
    {
        Parameters = parameters;
        Runs = runs;
        RestNote = restNote;
        Medians = Figures.Over(runs);
    }

    public IReadOnlyList<(string Name, object? Value)> Parameters { get; }

    /// <summary>What was set under a name; null when nothing was.</summary>
    public object? ValueOf(string name) => Parameters.FirstOrDefault(parameter => parameter.Name == name).Value;

    public IReadOnlyList<Figures> Runs { get; }

    public Figures Medians { get; }

    public string RestNote { get; }
}
