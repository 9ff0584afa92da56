using EQueue.Load.Measuring;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Every scenario, one after the other, into one report. One that fails does not keep the others from being measured;
/// the exit code is that of the worst.
/// </summary>
internal sealed class AllScenario : IScenario
{
    public string Name => "all";

    public string Summary => "every scenario at length, more than an hour and a half; --quick: each shortly, under 15 minutes";

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        Refuse(options);
        IReadOnlyList<MeasuringStep> steps = options.Quick ? AllSteps.Quick : AllSteps.Full;
        foreach (string part in options.Parts ?? [])
        {
            if (steps.All(step => step.Scenario != part))
                throw LoadException.Usage($"--part {part}: no scenario of this name; 'list' names them");
        }

        var failures = new List<LoadException>();
        var wanted = steps.Where(step => options.Parts?.Contains(step.Scenario) ?? true).ToList();
        foreach ((int number, MeasuringStep step) in wanted.Index())
        {
            long startNs = Clock.NowNs;
            LoadSession.Say($"== {number + 1} of {wanted.Count}: {step.Title}");
            if (await RunStepAsync(session, step, cancellationToken) is { } failure)
                failures.Add(failure);
            LoadSession.Say($"== {step.Title}: {(Clock.NowNs - startNs) / 1e9:F0} s");
        }

        if (failures.Count > 0)
        {
            LoadException worst = failures.Find(failure => failure.ExitCode == LoadExit.WrongData) ?? failures[0];
            throw new LoadException(worst.ExitCode, $"failed: {string.Join("; ", session.Report.Failures)}", worst);
        }
    }

    private static void Refuse(LoadOptions options)
    {
        var standard = new LoadOptions();
        LoadOptions rest = options with
        {
            Quick = false,
            Parts = null,
            Repeat = null,
            DataDirectory = null,
            Seed = standard.Seed,
            JsonFile = null,
            ReportFile = null,
            CurveDirectory = null,
            NoLimit = false,
            WarmMemoryGB = 0,
            LimitBlockKB = standard.LimitBlockKB,
            LimitTotalMB = standard.LimitTotalMB,
            Plant = Plant.None,
        };
        if (rest != standard)
        {
            throw LoadException.Usage(
                "all knows --quick, --part, --repeat, --data, --seed, --json, --report, --curves, --no-limit, "
                + "--warm-memory, --limit-block and --limit-total alone");
        }
    }

    /// <summary>Runs one step into a section of its own; null when it went well.</summary>
    private static async Task<LoadException?> RunStepAsync(
        LoadSession session, MeasuringStep step, CancellationToken cancellationToken)
    {
        var section = new LoadReport(step.Scenario) { Title = step.Title };
        session.Report.AddSection(section);
        try
        {
            LoadOptions options = step.Change(session.Options with { Parts = null, Quick = false, WarmMemoryGB = 0 });
            await using var part = new LoadSession(options, section);
            await ScenarioList.Find(step.Scenario)!.RunAsync(part, cancellationToken);
            return null;
        }
        catch (LoadException exception)
        {
            return Fail(exception);
        }
        catch (Exception exception) when (
            exception is not OutOfMemoryException && !cancellationToken.IsCancellationRequested)
        {
            return Fail(LoadException.Failed(exception.ToString(), exception));
        }

        LoadException Fail(LoadException exception)
        {
            LoadSession.Say(exception.Message);
            session.Report.AddFailure($"{step.Title}: {exception.Message.Split('\n')[0]}");
            return exception;
        }
    }
}
