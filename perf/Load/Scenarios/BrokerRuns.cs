using EQueue.Load.Limit;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>The runs of a row, or of some that are compared, with the limit measured before each of them.</summary>
internal static class BrokerRuns
{
    private const string RestNote = "this scenario does not measure it";

    /// <summary>Runs the plan as often as it says and adds the row.</summary>
    /// <param name="afterRun">Adds to a run what a scenario measures beside it; null: nothing.</param>
    /// <exception cref="LoadException">A run delivered wrong messages; the row says so without any rate.</exception>
    public static Task MeasureAsync(
        LoadSession session,
        RunPlan plan,
        Func<Figures, Task>? afterRun,
        CancellationToken cancellationToken) =>
        MeasureByTurnsAsync(
            session, [plan], (_, figures) => afterRun?.Invoke(figures) ?? Task.CompletedTask, cancellationToken);

    /// <summary>Runs the plans by turns, as often as the first one says, and adds a row of each: what the machine does
    /// meanwhile, and the disk after much was written, is felt by all alike. Every other round goes backwards. Each run
    /// is compared with that of the first plan in the same round.</summary>
    /// <param name="afterRun">Adds to a run what a scenario measures beside it.</param>
    /// <exception cref="LoadException">A run delivered wrong messages; its row says so without any rate.</exception>
    public static async Task MeasureByTurnsAsync(
        LoadSession session,
        IReadOnlyList<RunPlan> plans,
        Func<RunPlan, Figures, Task> afterRun,
        CancellationToken cancellationToken)
    {
        var rows = plans.Select(plan => (Plan: plan, Runs: new List<Figures>())).ToList();
        for (int number = 1; number <= plans[0].Repeat; number++)
        {
            foreach ((RunPlan plan, List<Figures> runs) in number % 2 == 1 ? rows : Enumerable.Reverse(rows))
            {
                Figures figures = await MeasureAsync(session, plan, cancellationToken);
                runs.Add(figures);
                await afterRun(plan, figures);
                LoadSession.Say(Describe(plan, number, figures));
            }
        }

        foreach ((RunPlan _, List<Figures> runs) in rows.Skip(1))
            Compare(runs, rows[0].Runs);
        foreach ((RunPlan plan, List<Figures> runs) in rows)
            session.Report.Add(new ReportRow(plan.Describe(session.Options), runs, RestNote));
    }

    private static void Compare(List<Figures> runs, List<Figures> first)
    {
        foreach ((Figures figures, Figures other) in runs.Zip(first))
        {
            figures[FigureNames.RatioToFirst] =
                figures[FigureNames.ConsumePerSecond] / other[FigureNames.ConsumePerSecond];
        }
    }

    private static async Task<Figures> MeasureAsync(
        LoadSession session, RunPlan plan, CancellationToken cancellationToken)
    {
        double? limitMBps = await MeasureLimitAsync(session, plan, cancellationToken);
        double? distanceNs = CoreDistance.MeasureNs();
        Figures figures = await MeasureOnceAsync(session, plan, cancellationToken);
        figures.SetCoreDistance(distanceNs, CoreDistance.MeasureNs());
        Verdict.Demand(session, plan.Describe(session.Options), figures, RestNote);
        SetLimit(figures, limitMBps);
        return figures;
    }

    private static async Task<Figures> MeasureOnceAsync(
        LoadSession session, RunPlan plan, CancellationToken cancellationToken)
    {
        await using var run = new BrokerRun(session, plan);
        return await run.RunAsync(cancellationToken);
    }

    private static async Task<double?> MeasureLimitAsync(
        LoadSession session, RunPlan plan, CancellationToken cancellationToken) =>
        plan.WithLimit && LimitRun.Unavailable is null
            ? await LimitRun.MeasureAsync(session, cancellationToken)
            : null;

    private static void SetLimit(Figures figures, double? limitMBps)
    {
        figures[FigureNames.LimitMBps] = limitMBps;
        figures[FigureNames.RatioToLimit] = figures[FigureNames.ConsumeMBps] / limitMBps;
        if (limitMBps is not null)
            return;
        string note = LimitRun.Unavailable ?? "the limit was not asked for";
        figures.Note(FigureNames.LimitMBps, note);
        figures.Note(FigureNames.RatioToLimit, note);
    }

    private static string Describe(RunPlan plan, int number, Figures figures)
    {
        double? rate = figures[FigureNames.ConsumePerSecond] ?? figures[FigureNames.SendPerSecond];
        double? megabytes = figures[FigureNames.ConsumeMBps] ?? figures[FigureNames.SendMBps];
        string limit = figures[FigureNames.LimitMBps] is { } limitMBps ? $", limit {limitMBps:F0} MB/s" : string.Empty;
        string what = plan.Rate is { } due ? $"at {due}/s" : $"{plan.InFlight} in flight";
        return $"{plan.Size} B, {plan.Producers} + {plan.Consumers}, "
            + $"{plan.Flush.ToString().ToLowerInvariant()} flush, {what}, run {number}: "
            + $"{rate:N0} msg/s, {megabytes:N1} MB/s{limit}";
    }
}
