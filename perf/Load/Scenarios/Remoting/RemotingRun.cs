using EQueue.Load.Limit;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>One server and its clients, a process and a connection each, calling in one mode after another.</summary>
internal sealed class RemotingRun(LoadSession session, int size, int clientCount) : IAsyncDisposable
{
    private readonly RoleProcess _server = session.Start(RoleList.RemotingServer);
    private readonly RoleProcess[] _clients =
        [.. Enumerable.Range(0, clientCount).Select(_ => session.Start(RoleList.RemotingClient))];

    private int? _port;
    private long _callsInAll;

    /// <summary>Calls for a while, or so often, and tells how that went.</summary>
    /// <param name="calls">Of all clients together; null: as many as the seconds allow.</param>
    /// <exception cref="LoadException">Requests were lost or came in another order, or an answer was another's.
    /// </exception>
    public async Task<Figures> CallAsync(
        CallMode mode, int inFlight, double seconds, long? calls, CancellationToken cancellationToken)
    {
        _port ??= (await _server.CallAsync<ListenResult>("listen", null, cancellationToken)).Port;
        var order = new CallOrder(_port.Value, mode, size, inFlight, seconds);
        CountResult start = await CountAsync(cancellationToken);
        CallResult[] results = await Task.WhenAll(_clients.Select((client, number) =>
            client.CallAsync<CallResult>("call", order with { Calls = ShareOf(calls, number) }, cancellationToken)));
        _callsInAll = results.Sum(result => result.CallsInAll);
        CountResult end = await CountAsync(cancellationToken);
        Figures figures = ToFigures(mode, results, start, end);
        if (figures[FigureNames.Missing] + figures[FigureNames.Reordered] + figures[FigureNames.Damaged] is not 0)
        {
            throw LoadException.WrongData(
                $"wrong data: {_callsInAll - end.Received} requests missing, {end.Misplaced} out of order, "
                + $"{results.Sum(result => result.WrongAnswers)} wrong answers");
        }

        return figures;
    }

    public async ValueTask DisposeAsync()
    {
        await Task.WhenAll(_clients.Select(client => client.DisposeAsync().AsTask()));
        await _server.DisposeAsync();
    }

    private long? ShareOf(long? calls, int number) =>
        (calls / clientCount) + (number < calls % clientCount ? 1 : 0);

    private Task<CountResult> CountAsync(CancellationToken cancellationToken) =>
        _server.CallAsync<CountResult>("count", new CountOrder(_callsInAll), cancellationToken);

    private Figures ToFigures(CallMode mode, CallResult[] results, CountResult start, CountResult end)
    {
        long calls = results.Sum(result => result.Calls);
        long firstSentNs = results.Min(result => result.FirstSentNs);
        long lastDoneNs = results.Max(result => result.LastDoneNs);
        long endNs = mode == CallMode.Oneway ? Math.Max(lastDoneNs, end.LastReceivedNs) : lastDoneNs;
        double seconds = (endNs - firstSentNs) / 1e9;
        var figures = new Figures
        {
            [FigureNames.Messages] = calls,
            [FigureNames.ElapsedSeconds] = seconds,
            [FigureNames.SendPerSecond] = calls / seconds,
            [FigureNames.SendMBps] = calls * (double)size / seconds / 1e6,
            [FigureNames.Of(FigureNames.Producer, FigureNames.CpuPercent)] =
                results.Sum(result => result.End.CpuPercentSince(result.Start)),
            [FigureNames.Of(FigureNames.Producer, FigureNames.ResidentBytes)] =
                results.Sum(result => result.End.ResidentBytes),
            [FigureNames.Of(FigureNames.Producer, FigureNames.AllocatedBytesPerMessage)] =
                (double)results.Sum(result => result.End.AllocatedBytes - result.Start.AllocatedBytes) / calls,
        };
        figures.SetProcess(FigureNames.Broker, start.Figures, end.Figures, calls);
        long wrongAnswers = results.Sum(result => result.WrongAnswers);
        figures.SetCheck(new CheckResult(_callsInAll - end.Received, 0, end.Misplaced, wrongAnswers));
        if (mode == CallMode.Oneway)
            figures.Note(FigureNames.AckLatency, "oneway: nothing is answered");
        var latency = new LatencyHistogram();
        foreach (CallResult result in results)
            latency.Add(result.Latency);
        figures.SetLatency(FigureNames.AckLatency, latency);
        return figures;
    }
}
