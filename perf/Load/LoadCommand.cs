using System.CommandLine;
using System.CommandLine.Parsing;
using System.Runtime.InteropServices;
using EQueue.Load.Reporting;
using EQueue.Load.Scenarios;

namespace EQueue.Load;

/// <summary>The command line: reads it, runs a scenario, writes the reports, turns outcomes into exit codes.</summary>
internal static class LoadCommand
{
    public static async Task<int> RunAsync(string[] args)
    {
        ParseResult parsed = MakeRoot().Parse(args);
        if (parsed.Errors.Count > 0)
        {
            foreach (ParseError error in parsed.Errors)
                await Console.Error.WriteLineAsync(error.Message);
            return LoadExit.Usage;
        }

        return await parsed.InvokeAsync(new InvocationConfiguration
        {
            EnableDefaultExceptionHandler = false,
            ProcessTerminationTimeout = null,
        });
    }

    /// <summary>A command for each scenario, and one that lists them.</summary>
    private static RootCommand MakeRoot()
    {
        var root = new RootCommand("Measures EQueue on this machine; docs/measuring.md says how to read the figures.");
        var list = new Command("list", "names the scenarios");
        list.SetAction(_ => PrintList());
        root.Add(list);
        foreach (IScenario scenario in ScenarioList.All)
        {
            root.Add(MakeCommand(scenario, scenario.Name));
            if (scenario.FormerName is { } former)
                root.Add(MakeCommand(scenario, former));
        }

        return root;
    }

    private static Command MakeCommand(IScenario scenario, string name)
    {
        var made = new ScenarioCommand(scenario, name);
        made.Command.SetAction((result, _) => ExecuteAsync(scenario, made.Read(result)));
        return made.Command;
    }

    private static void PrintList()
    {
        foreach (IScenario each in ScenarioList.All)
            Console.WriteLine($"{each.Name,-15} {each.Summary}");
    }

    private static async Task<int> ExecuteAsync(IScenario scenario, LoadOptions options)
    {
        using var interrupted = new CancellationTokenSource();
        using PosixSignalRegistration onInterrupt = Register(PosixSignal.SIGINT, interrupted);
        using PosixSignalRegistration onTerminate = Register(PosixSignal.SIGTERM, interrupted);
        using PosixSignalRegistration onHangUp = Register(PosixSignal.SIGHUP, interrupted);
        return await MeasureAsync(scenario, options, interrupted.Token);
    }

    private static async Task<int> MeasureAsync(IScenario scenario, LoadOptions options, CancellationToken interrupted)
    {
        var report = new LoadReport(scenario.Name)
        {
            Title = options.Quick ? $"{scenario.Name} --quick" : scenario.Name,
        };
        int exitCode = LoadExit.Ok;
        try
        {
            if (options.WarmMemoryGB > 0)
                MemoryWarmer.Warm(options.WarmMemoryGB, interrupted);
            await using var session = new LoadSession(options, report);
            await scenario.RunAsync(session, interrupted);
        }
        catch (OperationCanceledException) when (interrupted.IsCancellationRequested)
        {
            LoadSession.Say("interrupted");
            exitCode = LoadExit.Failed;
        }
        catch (LoadException exception)
        {
            LoadSession.Say(exception.Message);
            exitCode = exception.ExitCode;
        }
        catch (Exception exception) when (exception is not OutOfMemoryException)
        {
            LoadSession.Say(exception.ToString());
            exitCode = LoadExit.Failed;
        }

        return Publish(report, options) ? exitCode : Math.Max(exitCode, LoadExit.Failed);
    }

    private static bool Publish(LoadReport report, LoadOptions options)
    {
        new ReportTable(report, inFull: false).Print();
        foreach (LoadReport section in report.Sections)
        {
            Console.WriteLine($"== {section.Title}");
            new ReportTable(section, inFull: false).Print();
        }

        try
        {
            if (options.JsonFile is { } json)
                File.WriteAllText(json, JsonReport.Write(report));
            ILookup<LoadReport, string> pictures = Draw(report, options);
            if (options.ReportFile is { } page)
                File.WriteAllText(page, MarkdownReport.Write(report, pictures));
            return true;
        }
        catch (Exception exception) when (
            exception is IOException or UnauthorizedAccessException or LoadException)
        {
            LoadSession.Say($"the report cannot be written: {exception.Message}");
            return false;
        }
    }

    /// <summary>
    /// Writes the curves of each table: where <c>--curves</c> says, those of several scenarios else beside the page.
    /// </summary>
    /// <returns>By table: what was drawn, as seen from the page.</returns>
    private static ILookup<LoadReport, string> Draw(LoadReport report, LoadOptions options)
    {
        string? beside = report.Sections.Count > 0 && options.ReportFile is { } page
            ? Path.ChangeExtension(page, null) + "-curves"
            : null;
        (LoadReport Report, Curve Curve)[] curves = report.Sections.Prepend(report)
            .SelectMany(each => Pictures.Of(each).Select(curve => (Report: each, Curve: curve)))
            .ToArray();
        if (curves.Length == 0 || (options.CurveDirectory ?? beside) is not { } directory)
            return curves[..0].ToLookup(each => each.Report, each => each.Curve.Name);
        IReadOnlyList<Curve> drawn = Curve.Write(directory, [.. curves.Select(each => each.Curve)]);
        string from = Path.GetDirectoryName(Path.GetFullPath(options.ReportFile ?? directory))!;
        string to = Path.GetRelativePath(from, Path.GetFullPath(directory)).Replace('\\', '/');
        return curves.Where(each => drawn.Contains(each.Curve))
            .ToLookup(each => each.Report, each => $"{to}/{each.Curve.Name}.svg");
    }

    private static PosixSignalRegistration Register(PosixSignal signal, CancellationTokenSource interrupted) =>
        PosixSignalRegistration.Create(signal, context =>
        {
            context.Cancel = true;
            interrupted.Cancel();
        });
}
