using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Sockets;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Remoting alone: requests between processes in its three modes. Each round goes through a bare socket's stream, its
/// ping-pong and the three modes, so that what is compared was measured side by side.
/// </summary>
internal sealed class RemotingScenario : IScenario
{
    /// <summary>Calls of all clients together: so many that one client's rate is hardly bounded by their number over
    /// the round trip.</summary>
    private const int StandardInFlight = 4000;
    private const int StandardRepeat = 3;
    private const double StandardSeconds = 2;
    private const double StandardWarmup = 2;
    private const int AnswerSize = 8;
    private const string RestNote = "there is no broker";

    private static readonly int[] StandardSizes = [128, 1024, 2048];
    private static readonly int[] StandardClients = [1, 2, 3, 4];

    public string Name => "remoting";

    public string Summary => "oneway, async and sync calls with no broker (128,1024,2048 B; 2 s; 1,2,3,4 clients)";

    public LoadFlags Flags =>
        LoadFlags.Sizes | LoadFlags.Producers | LoadFlags.Seconds | LoadFlags.Messages | LoadFlags.Repeat
        | LoadFlags.Warmup | LoadFlags.InFlight;

    public LoadFlags Unused =>
        LoadFlags.NoLimit | LoadFlags.Consumers | LoadFlags.Queues | LoadFlags.Topics | LoadFlags.Api
        | LoadFlags.Flush;

    public async Task RunAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        if (options.Faults != Faults.None)
            throw LoadException.Usage("remoting has no consumer to deceive: it takes no --inject");
        int[] counts = options.Producers is { } given ? [given] : StandardClients;
        if (options.Messages < counts.Max())
            throw LoadException.Usage($"--messages {options.Messages}: one or more for each of {counts.Max()} clients");
        foreach (int size in options.Sizes ?? StandardSizes)
        {
            foreach (int clients in counts)
                await MeasureAsync(session, size, clients, cancellationToken);
        }
    }

    private static async Task MeasureAsync(
        LoadSession session, int size, int clients, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        double warmup = options.Warmup ?? StandardWarmup;
        CallMode[] modes = Enum.GetValues<CallMode>();
        Dictionary<CallMode, List<Figures>> runs = modes.ToDictionary(mode => mode, _ => new List<Figures>());
        await using var run = new RemotingRun(session, size, clients);
        foreach (CallMode mode in modes)
            await run.CallAsync(mode, InFlight(options, mode, clients), warmup, null, cancellationToken);
        for (int number = 1; number <= (options.Repeat ?? StandardRepeat); number++)
        {
            IReadOnlyList<(CallMode Mode, Figures Figures)> round = await MeasureRoundAsync(session, run, size, clients, cancellationToken);
            foreach ((CallMode mode, Figures figures) in round)
            {
                runs[mode].Add(figures);
                LoadSession.Say(
                    $"{mode.ToString().ToLowerInvariant()}, {size} B, {clients} clients, run {number}: "
                    + $"{figures[FigureNames.SendPerSecond]:N0} calls/s, {figures[FigureNames.SendMBps]:N1} MB/s");
            }
        }

        foreach (CallMode mode in modes)
            session.Report.Add(new ReportRow(Describe(options, mode, size, clients), runs[mode], RestNote));
    }

    private static async Task<IReadOnlyList<(CallMode Mode, Figures Figures)>> MeasureRoundAsync(
        LoadSession session, RemotingRun run, int size, int clients, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        double seconds = options.Seconds ?? StandardSeconds;
        StreamResult stream = await SocketReference.StreamAsync(session, seconds, cancellationToken);
        var order = new EchoOrder(0, size, null, seconds, options.Warmup ?? StandardWarmup, AnswerSize);
        EchoResult pingPong = await SocketReference.EchoAsync(session, order, cancellationToken);
        var round = new List<(CallMode Mode, Figures Figures)>();
        foreach (CallMode mode in Enum.GetValues<CallMode>())
        {
            int inFlight = InFlight(options, mode, clients);
            double? distanceNs = CoreDistance.MeasureNs();
            Figures figures = await run.CallAsync(mode, inFlight, seconds, options.Messages, cancellationToken);
            figures.SetCoreDistance(distanceNs, CoreDistance.MeasureNs());
            figures[FigureNames.BareStreamMBps] = stream.MBps;
            figures[FigureNames.BarePingPongPerSecond] = pingPong.PerSecond;
            SetReference(figures, mode, clients, size);
            round.Add((mode, figures));
        }

        (Figures oneway, Figures invoked, Figures inTurn) = (round[0].Figures, round[1].Figures, round[2].Figures);
        oneway[FigureNames.OnewayToStream] = oneway[FigureNames.SendMBps] / stream.MBps;
        invoked[FigureNames.AsyncToOneway] = invoked[FigureNames.SendPerSecond] / oneway[FigureNames.SendPerSecond];
        if (clients == 1)
            inTurn[FigureNames.SyncToPingPong] = pingPong.PerSecond / inTurn[FigureNames.SendPerSecond];
        inTurn.Note(FigureNames.SyncToPingPong, "several clients: the bare ping-pong has one");
        return round;
    }

    /// <summary>The old report's figure where it has one, else the bare socket's.</summary>
    private static void SetReference(Figures figures, CallMode mode, int clients, int size)
    {
        if (PublishedReports.CallsPerSecond(mode, clients, size) is { } old)
        {
            figures.SetReference(PublishedReports.ENode, old);
            figures[FigureNames.ReferenceRatio] = figures[FigureNames.SendPerSecond] / old;
        }
        else if (mode == CallMode.Sync)
        {
            figures.SetReference(
                "bare socket ping-pong, one connection, calls a second",
                figures[FigureNames.BarePingPongPerSecond] ?? double.NaN);
        }
        else
        {
            figures.SetReference(
                "bare socket stream, one connection, MB/s", figures[FigureNames.BareStreamMBps] ?? double.NaN);
        }
    }

    /// <summary>Calls under way of each client.</summary>
    private static int InFlight(LoadOptions options, CallMode mode, int clients) => mode switch
    {
        CallMode.Async => options.InFlight?[0] ?? Math.Max(StandardInFlight / clients, 1),
        _ => 1,
    };

    private static IReadOnlyList<(string Name, object? Value)> Describe(
        LoadOptions options, CallMode mode, int size, int clients) =>
    [
        ("mode", mode.ToString().ToLowerInvariant()),
        ("size", size),
        ("clients", clients),
        ("inFlight", mode == CallMode.Oneway ? null : InFlight(options, mode, clients)),
        ("answerSize", mode == CallMode.Oneway ? null : AnswerSize),
        ("seconds", options.Messages is null ? options.Seconds ?? StandardSeconds : null),
        ("messages", options.Messages),
        ("warmup", options.Warmup ?? StandardWarmup),
        ("repeat", options.Repeat ?? StandardRepeat),
    ];
}
