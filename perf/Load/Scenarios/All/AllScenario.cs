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

    public LoadFlags Flags =>
        LoadFlags.Quick | LoadFlags.Repeat | LoadFlags.Curves | LoadFlags.NoLimit | LoadFlags.LimitRun;

    public LoadFlags Unused => LoadFlags.None;

    public IReadOnlyList<string> Parts =>
        [.. ScenarioList.All.Where(scenario => scenario is not AllScenario).Select(scenario => scenario.Name)];

    public bool HasPart(string part) => ScenarioList.Find(part) is not (null or AllScenario);

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        IReadOnlyList<MeasuringStep> steps = options.Quick ? AllSteps.Quick : AllSteps.Full;
        var failures = new List<LoadException>();
        string[]? parts = options.Parts?.Select(part => ScenarioList.Find(part)!.Name).ToArray();
        var wanted = steps.Where(step => parts?.Contains(step.Scenario) ?? true).ToList();
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
