using System.Diagnostics;
using EQueue.Load.Consuming;
using EQueue.Load.Limit;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;
using EQueue.Load.Sending;

namespace EQueue.Load.Scenarios;

/// <summary>
/// A broker with more on its disk than in its memory: a paced producer alone, then with consumers far behind it, then
/// the bare disk.
/// </summary>
internal sealed class ColdReadRun(LoadSession session, RunPlan plan) : IAsyncDisposable
{
    private readonly uint _run = (uint)Random.Shared.Next();
    private readonly RoleProcess _producer = session.Start(RoleList.Producer);
    private readonly RoleProcess _replay = session.Start(RoleList.Replay);
    private readonly List<string> _topics = [];
    private RunBroker? _broker;
    private IReadOnlyList<long> _sent = [];

    /// <summary>Starts the broker and writes what the consumers will read.</summary>
    public async Task PrepareAsync(CancellationToken cancellationToken)
    {
        _broker = await RunBroker.StartAsync(session, plan.Flush, maxConnections: null, cancellationToken);
        for (int number = 0; number < plan.Topics; number++)
        {
            string topic = $"load-{_run:x8}-{number}";
            await _broker.CreateTopicAsync(topic, plan.Queues, maxBacklog: null, cancellationToken);
            _topics.Add(topic);
        }

        // Twice as many bodies as sends under way: a body must not be stamped anew before it is sent.
        int inFlight = Math.Min(plan.InFlight, plan.SlotCount / 2);
        await _producer.CallAsync(
            "prepare",
            new ProducerOrder(
                _broker.Server, plan.Producers, _topics, plan.Size, session.Options.Seed, _run, plan.SlotCount,
                SendApi.Message, inFlight, plan.BatchCount, plan.SampleMask),
            cancellationToken);
        long share = (plan.Messages!.Value + plan.Producers - 1) / plan.Producers;
        long[] shares = Enumerable.Repeat(share, plan.Producers).ToArray();
        await SendAsync(new SendOrder(0, shares, null), cancellationToken);
        if (plan.Warmup > 0)
        {
            await StartReadersAsync(cancellationToken);
            await StopReadersAsync(_sent, cancellationToken);
        }
    }

    public async Task<Figures> MeasureAsync(CancellationToken cancellationToken)
    {
        // Most is dropped here: a gigabyte of pages given back keeps a virtual machine busy for a second or two.
        PageCache.Drop(_broker!.DataDirectory);
        if (plan.Warmup > 0)
            await SendAsync(new SendOrder(plan.Warmup, null, plan.Rate), cancellationToken);
        var paced = new SendOrder(plan.Seconds, null, plan.Rate);
        SendResult alone = await SendAsync(paced, cancellationToken);

        IReadOnlyList<long> known = _sent;
        PageCache.Drop(_broker.DataDirectory);
        BrokerStats before = await _broker.ReadStatsAsync(cancellationToken);
        await StartReadersAsync(cancellationToken);
        SendResult beside = await SendAsync(paced, cancellationToken);
        BrokerStats after = await _broker.ReadStatsAsync(cancellationToken);
        ReplayResult read = await StopReadersAsync(known, cancellationToken);

        var figures = new Figures();
        double seconds = (beside.LastAckedNs - beside.FirstSentNs) / 1e9;
        figures[FigureNames.Messages] = beside.Messages;
        figures[FigureNames.ElapsedSeconds] = seconds;
        figures[FigureNames.SendPerSecond] = beside.Messages / seconds;
        figures[FigureNames.SendMBps] = beside.Messages * (double)plan.Size / seconds / 1e6;
        figures[FigureNames.ConsumePerSecond] = read.Messages / read.Seconds;
        figures[FigureNames.ConsumeMBps] = read.Messages * (double)plan.Size / read.Seconds / 1e6;
        after.SetFigures(figures, before, beside.Messages, seconds);
        figures.SetProcess(FigureNames.Producer, beside.Start, beside.End, beside.Messages);
        figures.SetProcess(FigureNames.Consumer, read.Start, read.End, read.Messages);
        figures.SetLatency(FigureNames.AckLatency, LatencyHistogram.From(beside.Ack));
        figures.SetCheck(read.Check);
        await CheckEndsAsync(figures, cancellationToken);
        await RunBroker.CheckFilesAsync([_broker], figures, _sent.Sum(), session.Options.Faults, cancellationToken);

        var quiet = LatencyHistogram.From(alone.Ack);
        figures.SetReference("ack without readers, p50 us", quiet.PercentileNs(50) / 1000.0);
        figures[FigureNames.ReferenceP99] = quiet.PercentileNs(99) / 1000.0;
        figures[FigureNames.ReferenceRatio] =
            figures[FigureNames.Of(FigureNames.AckLatency, "p99")] / figures[FigureNames.ReferenceP99];
        return figures;
    }

    /// <summary>One thread reads the broker's segments from front to back out of a cold page cache.</summary>
    /// <returns>Megabytes (10^6) a second.</returns>
    public async Task<double> ReadBareAsync(CancellationToken cancellationToken)
    {
        BrokerStats stats = await _broker!.ReadStatsAsync(cancellationToken);
        long end = stats.Find("store.writtenPosition") ?? throw LoadException.Failed("the broker tells no position");
        PageCache.Drop(_broker.DataDirectory);
        var clock = Stopwatch.StartNew();
        long bytes = await Task.Run(() => PageCache.ReadLog(_broker.DataDirectory, end), cancellationToken);
        return bytes / clock.Elapsed.TotalSeconds / 1e6;
    }

    public async ValueTask DisposeAsync()
    {
        await _replay.DisposeAsync();
        await _producer.DisposeAsync();
        if (_broker is not null)
            await _broker.DisposeAsync();
    }

    private async Task<SendResult> SendAsync(SendOrder order, CancellationToken cancellationToken)
    {
        SendResult result = await _producer.CallAsync<SendResult>("send", order, cancellationToken);
        _sent = result.SentInAll;
        return result;
    }

    private async Task StartReadersAsync(CancellationToken cancellationToken)
    {
        await _replay.CallAsync("prepare", NewReplayOrder(), cancellationToken);
        await _replay.CallAsync("start", null, cancellationToken);
    }

    /// <summary>Returns when each of them has been through everything.</summary>
    private Task<ReplayResult> StopReadersAsync(IReadOnlyList<long> sent, CancellationToken cancellationToken) =>
        _replay.CallAsync<ReplayResult>("stop", new JudgeOrder(sent), cancellationToken);

    /// <summary>What was sent beside the readers is not read by them: its count must stand in the queues.</summary>
    private async Task CheckEndsAsync(Figures figures, CancellationToken cancellationToken)
    {
        long stored = 0;
        foreach (string topic in _topics)
        {
            TopicDescription description = await _broker!.Client.Admin.DescribeTopicAsync(topic, cancellationToken);
            stored += description.Queues.Sum(queue => queue.End.Value - queue.Start.Value);
        }

        figures[FigureNames.Missing] += Math.Max(0, _sent.Sum() - stored);
        figures[FigureNames.Duplicated] += Math.Max(0, stored - _sent.Sum());
    }

    private ReplayOrder NewReplayOrder() => new(
        _broker!.Server, _broker.DataDirectory, plan.Consumers, _topics, plan.Queues, plan.Producers, plan.Size,
        session.Options.Seed, _run, plan.SlotCount, session.Options.ConsumerFaults);
}
