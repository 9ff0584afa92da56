using System.Diagnostics;
using EQueue.Client;
using EQueue.Load.Consuming;
using EQueue.Load.Limit;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;
using EQueue.Load.Sending;
using EQueue.Protocol;

namespace EQueue.Load.Scenarios;

/// <summary>
/// A broker with more on its disk than in its memory: a paced producer alone, then with consumers far behind it, then
/// the bare disk.
/// </summary>
internal sealed class ColdReadRun(LoadSession session, RunPlan plan) : IAsyncDisposable
{
    private readonly uint _run = (uint)Random.Shared.Next();
    private readonly string _directory = session.Workspace.NewPath("broker");
    private readonly RoleProcess _broker = session.Start(RoleList.Broker);
    private readonly RoleProcess _producer = session.Start(RoleList.Producer);
    private readonly List<string> _topics = [];
    private string _server = string.Empty;
    private EQueueClient? _client;
    private IReadOnlyList<long> _sent = [];

    /// <summary>Starts the broker and writes what the consumers will read.</summary>
    public async Task PrepareAsync(CancellationToken cancellationToken)
    {
        var order = new BrokerOrder(_directory, plan.Flush);
        _server = (await _broker.CallAsync<BrokerResult>("start", order, cancellationToken)).Server;
        _client = new EQueueClient(_server);
        for (var number = 0; number < plan.Topics; number++)
        {
            var topic = $"load-{_run:x8}-{number}";
            var settings = new TopicSettings { QueueCount = plan.Queues };
            await _client.Admin.CreateTopicAsync(topic, settings, cancellationToken);
            _topics.Add(topic);
        }

        // Twice as many bodies as sends under way: a body must not be stamped anew before it is sent.
        var inFlight = Math.Min(plan.InFlight, plan.SlotCount / 2);
        await _producer.CallAsync(
            "prepare",
            new ProducerOrder(
                _server, plan.Producers, _topics, plan.Size, session.Options.Seed, _run, plan.SlotCount,
                SendApi.Message, inFlight, plan.BatchCount, plan.SampleMask),
            cancellationToken);
        var share = (plan.Messages!.Value + plan.Producers - 1) / plan.Producers;
        var shares = Enumerable.Repeat(share, plan.Producers).ToArray();
        await SendAsync(new SendOrder(0, shares, null), cancellationToken);
        if (plan.Warmup > 0)
            await SendAsync(new SendOrder(plan.Warmup, null, plan.Rate), cancellationToken);
    }

    public async Task<Figures> MeasureAsync(CancellationToken cancellationToken)
    {
        var paced = new SendOrder(plan.Seconds, null, plan.Rate);
        var alone = await SendAsync(paced, cancellationToken);

        await using var replay = session.Start(RoleList.Replay);
        var known = _sent;
        await replay.CallAsync("prepare", NewReplayOrder(), cancellationToken);
        PageCache.Drop(_directory);
        var before = await _client!.Admin.StatsAsync(cancellationToken);
        await replay.CallAsync("start", null, cancellationToken);
        var beside = await SendAsync(paced, cancellationToken);
        var after = await _client.Admin.StatsAsync(cancellationToken);
        var read = await replay.CallAsync<ReplayResult>("stop", new JudgeOrder(known), cancellationToken);

        var figures = new Figures();
        var seconds = (beside.LastAckedNs - beside.FirstSentNs) / 1e9;
        figures[FigureNames.Messages] = beside.Messages;
        figures[FigureNames.ElapsedSeconds] = seconds;
        figures[FigureNames.SendPerSecond] = beside.Messages / seconds;
        figures[FigureNames.SendMBps] = beside.Messages * (double)plan.Size / seconds / 1e6;
        figures[FigureNames.ConsumePerSecond] = read.Messages / read.Seconds;
        figures[FigureNames.ConsumeMBps] = read.Messages * (double)plan.Size / read.Seconds / 1e6;
        BrokerRun.SetBroker(figures, before, after, beside.Messages, seconds);
        figures.SetProcess(FigureNames.Producer, beside.Start, beside.End, beside.Messages);
        figures.SetProcess(FigureNames.Consumer, read.Start, read.End, read.Messages);
        figures.SetLatency(FigureNames.AckLatency, LatencyHistogram.From(beside.Ack));
        figures.SetCheck(read.Check);
        await CheckEndsAsync(figures, cancellationToken);

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
        var stats = await _client!.Admin.StatsAsync(cancellationToken);
        var end = stats.Find("store.writtenPosition") ?? throw LoadException.Failed("the broker tells no position");
        PageCache.Drop(_directory);
        var clock = Stopwatch.StartNew();
        var bytes = await Task.Run(() => PageCache.ReadLog(_directory, end), cancellationToken);
        return bytes / clock.Elapsed.TotalSeconds / 1e6;
    }

    public async ValueTask DisposeAsync()
    {
        if (_client is not null)
            await _client.DisposeAsync();
        await _producer.DisposeAsync();
        await _broker.DisposeAsync();
        Workspace.Remove(_directory);
    }

    private async Task<SendResult> SendAsync(SendOrder order, CancellationToken cancellationToken)
    {
        var result = await _producer.CallAsync<SendResult>("send", order, cancellationToken);
        _sent = result.SentInAll;
        return result;
    }

    /// <summary>What was sent beside the readers is not read by them: its count must stand in the queues.</summary>
    private async Task CheckEndsAsync(Figures figures, CancellationToken cancellationToken)
    {
        long stored = 0;
        foreach (var topic in _topics)
        {
            var description = await _client!.Admin.DescribeTopicAsync(topic, cancellationToken);
            stored += description.Queues.Sum(queue => queue.End.Value - queue.Start.Value);
        }

        figures[FigureNames.Missing] += Math.Max(0, _sent.Sum() - stored);
        figures[FigureNames.Duplicated] += Math.Max(0, stored - _sent.Sum());
    }

    private ReplayOrder NewReplayOrder() => new(
        _server, _directory, plan.Consumers, _topics, plan.Queues, plan.Producers, plan.Size, session.Options.Seed,
        _run, plan.SlotCount, session.Options.Plant);
}
