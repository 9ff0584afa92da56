using EQueue.Load.Limit;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>A broker with a log of tagged messages, which is read from its begin once for one tag, once for all.</summary>
internal sealed class FilterRun(LoadSession session, FilterOrder order) : IAsyncDisposable
{
    /// <summary>Not measured: a small stream is sent and read before. 0 seconds leave that out.</summary>
    public const double StandardWarmup = 2;

    private const long WarmupMessages = 100_000;

    /// <summary>Nothing is sent while it reads.</summary>
    private static readonly string[] Writing =
    [
        FigureNames.BytesWritten, FigureNames.DiskWriteMBps, FigureNames.Fdatasyncs, FigureNames.FdatasyncsPerSecond,
        FigureNames.MessagesPerFdatasync,
    ];

    private readonly RoleProcess _producer = session.Start(RoleList.Filter);
    private readonly RoleProcess _reader = session.Start(RoleList.Filter);
    private FilterOrder? _stream;
    private RunBroker? _broker;
    private long _sent;

    /// <summary>Starts the broker and sends what the readers will read.</summary>
    public async Task<FilterSendResult> PrepareAsync(CancellationToken cancellationToken)
    {
        FlushMode flush = session.Options.Flush ?? FlushMode.Async;
        _broker = await RunBroker.StartAsync(session, flush, maxConnections: null, cancellationToken);
        if ((session.Options.Warmup ?? StandardWarmup) > 0)
        {
            FilterOrder warm = order with { Server = _broker.Server, Topic = "warm", Messages = WarmupMessages };
            await SendAsync(warm, cancellationToken);
            await ReadAsync(warm, onlyWanted: true, Faults.None, cancellationToken);
            await ReadAsync(warm, onlyWanted: false, Faults.None, cancellationToken);
        }

        _stream = order with { Server = _broker.Server, Topic = "load" };
        return await SendAsync(_stream, cancellationToken);
    }

    /// <summary>Reads one tag, then everything, each with no page of the log in the system's cache.</summary>
    public async Task<Figures> MeasureAsync(Faults faults, CancellationToken cancellationToken)
    {
        PageCache.Drop(_broker!.DataDirectory);
        BrokerStats before = await _broker.ReadStatsAsync(cancellationToken);
        FilterReadResult one = await ReadAsync(_stream!, onlyWanted: true, faults, cancellationToken);
        BrokerStats after = await _broker.ReadStatsAsync(cancellationToken);
        PageCache.Drop(_broker.DataDirectory);
        FilterReadResult all = await ReadAsync(_stream!, onlyWanted: false, Faults.None, cancellationToken);

        var figures = new Figures();
        after.SetFigures(figures, before, one.Messages, one.Seconds);
        foreach (string name in Writing)
            figures[name] = null;
        figures.SetProcess(FigureNames.Consumer, one.Start, one.End, one.Messages);
        figures[FigureNames.Messages] = one.Messages;
        figures[FigureNames.ElapsedSeconds] = figures[FigureNames.ReadSeconds] = one.Seconds;
        figures[FigureNames.ReadSecondsOfAll] = all.Seconds;
        figures[FigureNames.ConsumePerSecond] = order.Messages / one.Seconds;
        figures[FigureNames.FetchedBytes] = one.FetchedBytes;
        figures[FigureNames.FetchedBytesOfAll] = all.FetchedBytes;
        figures[FigureNames.FetchedRatio] = (double)all.FetchedBytes / one.FetchedBytes;
        figures.SetReference("reading every message, messages/s", order.Messages / all.Seconds);
        figures[FigureNames.ReferenceRatio] = all.Seconds / one.Seconds;
        figures.SetCheck(new CheckResult(
            one.Check.Missing + all.Check.Missing,
            one.Check.Duplicated + all.Check.Duplicated,
            one.Check.Reordered + all.Check.Reordered,
            one.Check.Damaged + all.Check.Damaged));
        await RunBroker.CheckFilesAsync([_broker], figures, _sent, session.Options.Faults, cancellationToken);
        return figures;
    }

    public async ValueTask DisposeAsync()
    {
        await _reader.DisposeAsync();
        await _producer.DisposeAsync();
        if (_broker is not null)
            await _broker.DisposeAsync();
    }

    private async Task<FilterSendResult> SendAsync(FilterOrder stream, CancellationToken cancellationToken)
    {
        await _broker!.CreateTopicAsync(stream.Topic, stream.Queues, maxBacklog: null, cancellationToken);
        _sent += stream.Messages;
        return await _producer.CallAsync<FilterSendResult>("send", stream, cancellationToken);
    }

    private Task<FilterReadResult> ReadAsync(
        FilterOrder stream, bool onlyWanted, Faults faults, CancellationToken cancellationToken) =>
        _reader.CallAsync<FilterReadResult>("read", new FilterReadOrder(stream, onlyWanted, faults), cancellationToken);
}
