using EQueue.Load.Limit;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>The runs of one row, with the limit measured before each of them.</summary>
internal static class BrokerRuns
{
    private const string RestNote = "this scenario does not measure it";

    /// <summary>Runs the plan as often as it says and adds the row.</summary>
    /// <param name="afterRun">Adds to a run what a scenario measures beside it; null: nothing.</param>
    /// <exception cref="LoadException">A run delivered wrong messages; the row says so without any rate.</exception>
    public static async Task MeasureAsync(
        LoadSession session,
        RunPlan plan,
        Func<Figures, Task>? afterRun,
        CancellationToken cancellationToken)
    {
        var runs = new List<Figures>();
        var parameters = plan.Describe(session.Options);
        for (var number = 1; number <= plan.Repeat; number++)
        {
            var limitMBps = await MeasureLimitAsync(session, plan, cancellationToken);
            var figures = await MeasureOnceAsync(session, plan, cancellationToken);
            runs.Add(figures);
            Verdict.Demand(session, parameters, figures, RestNote);
            SetLimit(figures, limitMBps);
            if (afterRun is not null)
                await afterRun(figures);
            LoadSession.Say(Describe(plan, number, figures));
        }

        session.Report.Add(new ReportRow(parameters, runs, RestNote));
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
        var note = LimitRun.Unavailable ?? "the limit was not asked for";
        figures.Note(FigureNames.LimitMBps, note);
        figures.Note(FigureNames.RatioToLimit, note);
    }

    private static string Describe(RunPlan plan, int number, Figures figures)
    {
        var rate = figures[FigureNames.ConsumePerSecond] ?? figures[FigureNames.SendPerSecond];
        var megabytes = figures[FigureNames.ConsumeMBps] ?? figures[FigureNames.SendMBps];
        var limit = figures[FigureNames.LimitMBps] is { } limitMBps ? $", limit {limitMBps:F0} MB/s" : string.Empty;
        var what = plan.Rate is { } due ? $"at {due}/s" : $"{plan.InFlight} in flight";
        return $"{plan.Size} B, {plan.Flush.ToString().ToLowerInvariant()} flush, {what}, run {number}: "
            + $"{rate:N0} msg/s, {megabytes:N1} MB/s{limit}";
    }
}
