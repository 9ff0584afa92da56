using EQueue.Load.Limit;
using EQueue.Load.Reporting;

namespace EQueue.Load.Scenarios;

/// <summary>The machine's yardstick alone.</summary>
internal sealed class LimitScenario : IScenario
{
    private const int DefaultRepeat = 3;

    public string Name => "limit";

    public string Summary => "what this machine moves from socket to file to socket with no broker (MB/s)";

    public LoadFlags Flags => LoadFlags.Repeat | LoadFlags.LimitRun;

    public LoadFlags Unused => LoadFlags.Any;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        if (LimitRun.Unavailable is { } reason)
            throw LoadException.MachineLimit("system", reason);
        LoadOptions options = session.Options;
        var runs = new List<Figures>();
        for (int run = 1; run <= (options.Repeat ?? DefaultRepeat); run++)
        {
            double megabytesPerSecond = await LimitRun.MeasureAsync(session, cancellationToken);
            LoadSession.Say($"limit run {run}: {megabytesPerSecond:F0} MB/s");
            runs.Add(new Figures
            {
                [FigureNames.ConsumeMBps] = megabytesPerSecond,
                [FigureNames.LimitMBps] = megabytesPerSecond,
                [FigureNames.RatioToLimit] = 1,
            });
        }

        session.Report.Add(new ReportRow(
            [("blockKB", options.LimitBlockKB), ("totalMB", options.LimitTotalMB)],
            runs,
            "the limit moves bytes: it knows no messages and no broker"));
    }
}
