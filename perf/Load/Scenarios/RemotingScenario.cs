using EQueue.Load.Calls;
using EQueue.Load.Limit;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;
using EQueue.Load.Sockets;

namespace EQueue.Load.Scenarios;

/// <summary>Remoting alone: requests between processes in its three modes, beside a bare socket.</summary>
internal sealed class RemotingScenario : IScenario
{
    private const int StandardInFlight = 1000;
    private const int StandardRepeat = 3;
    private const double StandardSeconds = 3;
    private const double StandardWarmup = 1;
    private const int AnswerSize = 8;

    private static readonly int[] StandardSizes = [128, 1024, 2048];
    private static readonly int[] StandardClients = [1, 2, 4];

    public string Name => "remoting";

    public string Summary => "oneway, async and sync calls with no broker (128,1024,2048 B; 3 s; 1,2,4 clients)";

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        var options = session.Options;
        if (options.Messages is not null || options.Server is not null || options.Plant != Plant.None)
            throw LoadException.Usage("remoting knows no --messages, --server and --plant");
        var seconds = options.Seconds ?? StandardSeconds;
        var warmup = options.Warmup ?? StandardWarmup;
        foreach (var size in options.Sizes ?? StandardSizes)
        {
            var stream = await SocketReference.StreamAsync(session, seconds, cancellationToken);
            var echoOrder = new EchoOrder(0, size, null, seconds, warmup, AnswerSize);
            var echo = await SocketReference.EchoAsync(session, echoOrder, cancellationToken);
            foreach (var mode in Enum.GetValues<CallMode>())
            {
                foreach (var clients in options.Producers is { } given ? [given] : StandardClients)
                {
                    var plan = new CallOrder(0, mode, size, InFlight(options, mode), seconds);
                    var runs = await MeasureAsync(session, plan, clients, warmup, cancellationToken);
                    AddReference(runs, mode, stream, echo);
                    var parameters = Describe(options, plan, clients, warmup);
                    session.Report.Add(new ReportRow(parameters, runs, "there is no broker"));
                }
            }
        }
    }

    private static async Task<IReadOnlyList<Figures>> MeasureAsync(
        LoadSession session, CallOrder plan, int clientCount, double warmup, CancellationToken cancellationToken)
    {
        await using var server = session.Start(RoleList.RemotingServer);
        var clients = Enumerable.Range(0, clientCount).Select(_ => session.Start(RoleList.RemotingClient)).ToArray();
        var listen = await server.CallAsync<ListenResult>("listen", null, cancellationToken);
        var order = plan with { Port = listen.Port };
        var last = await CallAsync(clients, order with { Seconds = warmup }, cancellationToken);
        var runs = new List<Figures>();
        for (var number = 1; number <= (session.Options.Repeat ?? StandardRepeat); number++)
        {
            var total = last.Sum(result => result.CallsInAll);
            var start = await server.CallAsync<CountResult>("count", new CountOrder(total), cancellationToken);
            last = await CallAsync(clients, order, cancellationToken);
            total = last.Sum(result => result.CallsInAll);
            var end = await server.CallAsync<CountResult>("count", new CountOrder(total), cancellationToken);
            var figures = ToFigures(plan, last, start, end);
            if (figures[FigureNames.Missing] + figures[FigureNames.Reordered] + figures[FigureNames.Damaged] is not 0)
            {
                throw LoadException.WrongData(
                    $"wrong data: {total - end.Received} requests missing, {end.Misplaced} out of order, "
                    + $"{last.Sum(result => result.WrongAnswers)} wrong answers");
            }

            runs.Add(figures);
            LoadSession.Say(
                $"{plan.Mode.ToString().ToLowerInvariant()}, {plan.Size} B, {clientCount} clients, run {number}: "
                + $"{figures[FigureNames.SendPerSecond]:N0} calls/s, {figures[FigureNames.SendMBps]:N1} MB/s");
        }

        await Task.WhenAll(clients.Select(client => client.DisposeAsync().AsTask()));
        return runs;
    }

    private static async Task<CallResult[]> CallAsync(
        RoleProcess[] clients, CallOrder order, CancellationToken cancellationToken) =>
        await Task.WhenAll(clients.Select(client => client.CallAsync<CallResult>("call", order, cancellationToken)));

    private static Figures ToFigures(CallOrder plan, CallResult[] results, CountResult start, CountResult end)
    {
        var calls = results.Sum(result => result.Calls);
        var firstSentNs = results.Min(result => result.FirstSentNs);
        var lastDoneNs = results.Max(result => result.LastDoneNs);
        var endNs = plan.Mode == CallMode.Oneway ? Math.Max(lastDoneNs, end.LastReceivedNs) : lastDoneNs;
        var seconds = (endNs - firstSentNs) / 1e9;
        var figures = new Figures
        {
            [FigureNames.Messages] = calls,
            [FigureNames.ElapsedSeconds] = seconds,
            [FigureNames.SendPerSecond] = calls / seconds,
            [FigureNames.SendMBps] = calls * (double)plan.Size / seconds / 1e6,
            [FigureNames.Of(FigureNames.Producer, FigureNames.CpuPercent)] =
                results.Sum(result => result.End.CpuPercentSince(result.Start)),
            [FigureNames.Of(FigureNames.Producer, FigureNames.ResidentBytes)] =
                results.Sum(result => result.End.ResidentBytes),
            [FigureNames.Of(FigureNames.Producer, FigureNames.AllocatedBytesPerMessage)] =
                (double)results.Sum(result => result.End.AllocatedBytes - result.Start.AllocatedBytes) / calls,
        };
        figures.SetProcess(FigureNames.Broker, start.Figures, end.Figures, calls);
        var wrongAnswers = results.Sum(result => result.WrongAnswers);
        figures.SetCheck(new CheckResult(
            results.Sum(result => result.CallsInAll) - end.Received, 0, end.Misplaced, wrongAnswers));
        if (plan.Mode == CallMode.Oneway)
            figures.Note(FigureNames.AckLatency, "oneway: nothing is answered");
        var latency = new LatencyHistogram();
        foreach (var result in results)
            latency.Add(result.Latency);
        figures.SetLatency(FigureNames.AckLatency, latency);
        return figures;
    }

    private static void AddReference(IReadOnlyList<Figures> runs, CallMode mode, StreamResult stream, EchoResult echo)
    {
        foreach (var run in runs)
        {
            if (mode == CallMode.Sync)
                run.SetReference("bare socket ping-pong, one connection, calls a second", echo.PerSecond);
            else
                run.SetReference("bare socket stream, one connection, MB/s", stream.MBps);
        }
    }

    private static int InFlight(LoadOptions options, CallMode mode) => mode switch
    {
        CallMode.Async => options.InFlight?[0] ?? StandardInFlight,
        _ => 1,
    };

    private static IReadOnlyList<(string Name, object? Value)> Describe(
        LoadOptions options, CallOrder plan, int clients, double warmup) =>
    [
        ("mode", plan.Mode.ToString().ToLowerInvariant()),
        ("size", plan.Size),
        ("clients", clients),
        ("inFlight", plan.Mode == CallMode.Oneway ? null : plan.InFlight),
        ("answerSize", plan.Mode == CallMode.Oneway ? null : AnswerSize),
        ("seconds", plan.Seconds),
        ("warmup", warmup),
        ("repeat", options.Repeat ?? StandardRepeat),
    ];
}
