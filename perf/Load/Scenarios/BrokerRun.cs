using EQueue.Load.Consuming;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;
using EQueue.Load.Sending;

namespace EQueue.Load.Scenarios;

/// <summary>
/// One measured run against a broker: fresh processes and a fresh data directory, consumers first, the same load for a
/// while to warm up, then the stretch that counts, then the verdict on every message.
/// </summary>
internal sealed class BrokerRun(LoadSession session, RunPlan plan) : IAsyncDisposable
{
    /// <summary>Without a message for so long, no more will come.</summary>
    private const double QuietSeconds = 15;

    /// <summary>
    /// Nothing that the load program itself asks of a broker takes longer; a server that is not there is soon known.
    /// </summary>
    private static readonly TimeSpan AdminTimeout = TimeSpan.FromSeconds(10);

    private readonly LoadOptions _options = session.Options;
    private readonly uint _run = (uint)Random.Shared.Next();
    private readonly List<string> _topics = [];
    private readonly RunProcesses _processes = new(session);
    private readonly List<RunBroker> _brokers = [];
    private string _server = string.Empty;
    private EQueueClient? _client;

    private string GroupName => $"load-{_run:x8}";

    /// <summary>What is to be done with the broker that was started before anybody else talks to it.</summary>
    public Func<RunBroker, Task>? BeforeClients { get; init; }

    /// <summary>What runs beside the sending: in the warm-up, which is the first call, and in the stretch that
    /// counts.</summary>
    public Func<RunTalk, CancellationToken, Task>? WhileSending { get; init; }

    /// <summary>What is to be done once everything of the warm-up is consumed.</summary>
    public Func<CancellationToken, Task>? BeforeCounting { get; init; }

    public async Task<Figures> RunAsync(CancellationToken cancellationToken)
    {
        _server = _options.Server ?? await StartBrokersAsync(cancellationToken);
        _client = new EQueueClient(LoadClient.OptionsFor(_server) with { RequestTimeout = AdminTimeout });
        await CreateTopicsAsync(cancellationToken);
        RoleProcess? consumer = plan.Consumers > 0 ? _processes.Start(RoleList.Consumer) : null;
        if (consumer is not null)
            await consumer.CallAsync("prepare", NewConsumerOrder(), cancellationToken);
        RoleProcess producer = _processes.Start(RoleList.Producer);
        await producer.CallAsync("prepare", NewProducerOrder(), cancellationToken);
        Figures figures = await MeasureAsync(producer, consumer, cancellationToken);
        if (_options.Server is not null)
            await DeleteTopicsAsync(cancellationToken);
        return figures;
    }

    /// <summary>Stops the processes, clients before the broker, and gives the disk back.</summary>
    public async ValueTask DisposeAsync()
    {
        if (_client is not null)
            await _client.DisposeAsync();
        await _processes.DisposeAsync();
        foreach (RunBroker broker in _brokers)
            await broker.DisposeAsync();
    }

    /// <returns>Their addresses.</returns>
    private async Task<string> StartBrokersAsync(CancellationToken cancellationToken)
    {
        for (int number = 0; number < plan.Brokers; number++)
        {
            _brokers.Add(plan switch
            {
                { Replicas: > 1 } => await RunBroker.StartClusterAsync(session, plan.Flush, cancellationToken),
                { WithAdmin: true } => await RunBroker.StartServerAsync(session, plan.Flush, cancellationToken),
                _ => await RunBroker.StartAsync(session, plan.Flush, plan.MaxConnections, cancellationToken),
            });
        }

        if (BeforeClients is not null)
            await BeforeClients(_brokers[0]);
        return string.Join(',', _brokers.Select(broker => broker.Server));
    }

    private async Task CreateTopicsAsync(CancellationToken cancellationToken)
    {
        for (int number = 0; number < plan.Topics; number++)
        {
            string topic = $"load-{_run:x8}-{number}";
            await _client!.Admin.CreateTopicAsync(
                topic,
                new TopicSettings { QueueCount = plan.Queues / plan.Brokers, MaxBacklogMessages = plan.MaxBacklog },
                cancellationToken);
            _topics.Add(topic);
        }
    }

    private async Task DeleteTopicsAsync(CancellationToken cancellationToken)
    {
        foreach (string topic in _topics)
            await _client!.Admin.DeleteTopicAsync(topic, cancellationToken);
    }

    private async Task<Figures> MeasureAsync(
        RoleProcess producer, RoleProcess? consumer, CancellationToken cancellationToken)
    {
        var figures = new Figures();
        if (plan.ConnectAtATime is not null)
            await ConnectAsync(figures, producer, consumer, cancellationToken);
        if (plan.Warmup > 0)
            await WarmUpAsync(producer, consumer, cancellationToken);

        if (BeforeCounting is not null)
            await BeforeCounting(cancellationToken);
        ProcessFigures? consumerStart = consumer is null
            ? null
            : await consumer.CallAsync<ProcessFigures>("measure", null, cancellationToken);
        DepthSampler? sampler = plan.MaxBacklog is null ? null : new DepthSampler(_server, _topics);
        BrokerStats brokerStart = await ReadStatsAsync(cancellationToken);
        long? diskStart = ReadDiskBytes();
        (double? Broker, double? Follower) cpuStart = ReadCpuSeconds();
        SendResult sent = await SendWithOthersAsync(
            producer, new SendOrder(plan.Seconds, Shares(), plan.Rate), cancellationToken);
        ExpectResult? consumed = await ExpectAsync(consumer, sent, cancellationToken);
        long? diskBytes = ReadDiskBytes() - diskStart;
        BrokerStats brokerEnd = await ReadStatsAsync(cancellationToken);
        SetCpu(figures, cpuStart, ReadCpuSeconds(), sent.Messages * (double)plan.Size / 1e9);
        if (sampler is not null)
        {
            await sampler.DisposeAsync();
            figures[FigureNames.MaxDepth] = sampler.MaxDepth;
            figures[FigureNames.ResidentGrowth] = sampler.ResidentGrowth;
        }

        figures[FigureNames.RequestsPerMessage] =
            (brokerEnd.Find("broker.produceRequests") - brokerStart.Find("broker.produceRequests"))
            / (double)sent.Messages;
        long endNs = consumed?.LastConsumedNs ?? sent.LastAckedNs;
        SetRates(figures, sent, endNs);
        double seconds = (endNs - sent.FirstSentNs) / 1e9;
        brokerEnd.SetFigures(figures, brokerStart, sent.Messages, seconds);
        SetTraffic(figures, sent, consumerStart, consumed, diskBytes / seconds);
        figures.SetProcess(FigureNames.Producer, sent.Start, sent.End, sent.Messages);
        if (consumer is null)
        {
            await CheckEndsAsync(figures, sent.SentInAll.Sum(), cancellationToken);
        }
        else
        {
            figures.SetProcess(FigureNames.Consumer, consumerStart!, consumed!.Figures, sent.Messages);
            var order = new JudgeOrder(sent.SentInAll);
            JudgeResult verdict = await consumer.CallAsync<JudgeResult>("judge", order, cancellationToken);
            figures.SetLatency(FigureNames.EndToEndLatency, LatencyHistogram.From(verdict.EndToEnd));
            figures.SetCheck(verdict.Check);
        }

        foreach (RunBroker broker in _brokers)
            await broker.DemandSteadyAsync(cancellationToken);
        await CheckFilesAsync(figures, sent.SentInAll.Sum(), cancellationToken);
        AddNotes(figures);
        return figures;
    }

    /// <summary>The same load for a while. Where it is paced, a first half ends as the stretch that counts begins: what
    /// the roles do then is compiled in the second half, not among messages whose latency counts.</summary>
    private async Task WarmUpAsync(RoleProcess producer, RoleProcess? consumer, CancellationToken cancellationToken)
    {
        double seconds = plan.Warmup;
        if (plan.Rate is not null)
        {
            seconds /= 2;
            SendResult first = await SendAsync(producer, new SendOrder(seconds, null, plan.Rate), cancellationToken);
            await ExpectAsync(consumer, first, cancellationToken);
            if (consumer is not null)
                await consumer.CallAsync<ProcessFigures>("measure", null, cancellationToken);
        }

        SendResult warm = await SendWithOthersAsync(producer, new SendOrder(seconds, null, plan.Rate), cancellationToken);
        await ExpectAsync(consumer, warm, cancellationToken);
    }

    /// <summary>A message of each producer, a few producers at a time.</summary>
    private async Task ConnectAsync(
        Figures figures, RoleProcess producer, RoleProcess? consumer, CancellationToken cancellationToken)
    {
        BrokerStats before = await ReadStatsAsync(cancellationToken);
        long[] shares = [.. Enumerable.Repeat(1L, plan.Producers)];
        var order = new SendOrder(0, shares, null) { AtATime = plan.ConnectAtATime };
        SendResult sent = await SendAsync(producer, order, cancellationToken);
        await ExpectAsync(consumer, sent, cancellationToken);
        const string name = "broker.connections";
        long? opened = (await ReadStatsAsync(cancellationToken)).Find(name) - before.Find(name);
        figures[FigureNames.OpenConnections] = opened;
        figures[FigureNames.ConnectionsPerSecond] = opened / ((sent.LastAckedNs - sent.FirstSentNs) / 1e9);
    }

    private async Task<SendResult> SendWithOthersAsync(
        RoleProcess producer, SendOrder order, CancellationToken cancellationToken)
    {
        if (WhileSending is null)
            return await SendAsync(producer, order, cancellationToken);
        Task others = WhileSending(new RunTalk(_brokers[0], _topics, GroupName), cancellationToken);
        SendResult sent = await SendAsync(producer, order, cancellationToken);
        await others;
        return sent;
    }

    private static Task<SendResult> SendAsync(
        RoleProcess producer, SendOrder order, CancellationToken cancellationToken) =>
        producer.CallAsync<SendResult>("send", order, cancellationToken);

    private static async Task<ExpectResult?> ExpectAsync(
        RoleProcess? consumer, SendResult sent, CancellationToken cancellationToken)
    {
        if (consumer is null)
            return null;
        var order = new ExpectOrder(sent.SentInAll.Sum(), QuietSeconds);
        return await consumer.CallAsync<ExpectResult>("expect", order, cancellationToken);
    }

    /// <summary>The messages of a counted run, split evenly over the producers.</summary>
    private long[]? Shares()
    {
        if (plan.Messages is not { } messages || plan.Rate is not null)
            return null;
        long share = messages / plan.Producers;
        return [.. Enumerable.Range(0, plan.Producers).Select(i => share + (i < messages % plan.Producers ? 1 : 0))];
    }

    private void SetRates(Figures figures, SendResult sent, long endNs)
    {
        double sendSeconds = (sent.LastAckedNs - sent.FirstSentNs) / 1e9;
        double seconds = (endNs - sent.FirstSentNs) / 1e9;
        figures[FigureNames.Messages] = sent.Messages;
        figures[FigureNames.ElapsedSeconds] = seconds;
        figures[FigureNames.SendPerSecond] = sent.Messages / sendSeconds;
        figures[FigureNames.SendMBps] = sent.Messages * (double)plan.Size / sendSeconds / 1e6;
        figures.SetLatency(FigureNames.AckLatency, LatencyHistogram.From(sent.Ack));
        if (plan.Consumers == 0)
            return;
        figures[FigureNames.ConsumePerSecond] = sent.Messages / seconds;
        figures[FigureNames.ConsumeMBps] = sent.Messages * (double)plan.Size / seconds / 1e6;
    }

    /// <summary>What the system counted: bytes over the clients' sockets, bytes that the broker wrote.</summary>
    private void SetTraffic(
        Figures figures, SendResult sent, ProcessFigures? consumerStart, ExpectResult? consumed, double? diskPerSecond)
    {
        double sendSeconds = (sent.LastAckedNs - sent.FirstSentNs) / 1e9;
        double seconds = ((consumed?.LastConsumedNs ?? sent.LastAckedNs) - sent.FirstSentNs) / 1e9;
        figures[FigureNames.SendNetworkMBps] = (sent.End.Sockets?.Sent - sent.Start.Sockets?.Sent) / sendSeconds / 1e6;
        figures[FigureNames.ConsumeNetworkMBps] =
            (consumed?.Figures.Sockets?.Received - consumerStart?.Sockets?.Received) / seconds / 1e6;
        figures[FigureNames.ProcessDiskMBps] = diskPerSecond / 1e6;
        const string note = "this system does not tell";
        figures.Note(FigureNames.SendNetworkMBps, note);
        figures.Note(FigureNames.ConsumeNetworkMBps, plan.Consumers == 0 ? "nothing was consumed" : note);
        figures.Note(
            FigureNames.ProcessDiskMBps, _options.Server is null ? note : "the server's process is not this program's");
    }

    /// <summary>Of the brokers, or the nodes that lead; and of those that follow, the mean.</summary>
    private (double? Broker, double? Follower) ReadCpuSeconds()
    {
        int[] followers = [.. _brokers.SelectMany(broker => broker.FollowerIds)];
        return (
            _brokers.Count == 0 ? null : Sum(_brokers.Select(broker => broker.ProcessId)),
            followers.Length == 0 ? null : Sum(followers) / followers.Length);

        static double? Sum(IEnumerable<int> processes) => processes.Select(OtherProcess.ReadCpuSeconds)
            .Aggregate((double?)0, (sum, seconds) => sum + seconds);
    }

    private static void SetCpu(
        Figures figures, (double? Broker, double? Follower) start, (double? Broker, double? Follower) end, double gigabytes)
    {
        figures[FigureNames.BrokerCpuPerGB] = (end.Broker - start.Broker) / gigabytes;
        figures[FigureNames.FollowerCpuPerGB] = (end.Follower - start.Follower) / gigabytes;
        figures.Note(FigureNames.BrokerCpuPerGB, "the server's process is not this program's");
        figures.Note(FigureNames.FollowerCpuPerGB, "nobody follows");
    }

    private long? ReadDiskBytes() => _brokers.Count == 0
        ? null
        : _brokers.Select(broker => OtherProcess.ReadDiskWriteBytes(broker.ProcessId))
            .Aggregate((long?)0, (sum, bytes) => sum + bytes);

    /// <summary>What was acknowledged must stand in the files of this run's own brokers.</summary>
    private async Task CheckFilesAsync(Figures figures, long sent, CancellationToken cancellationToken)
    {
        if (_brokers.Count == 0)
            figures.Note(FigureNames.Unstored, "the server's files are not this program's");
        else
            await RunBroker.CheckFilesAsync(_brokers, figures, sent, _options.Faults, cancellationToken);
    }

    /// <summary>Without a consumer: as many messages must stand in the queues as were acknowledged.</summary>
    private async Task CheckEndsAsync(Figures figures, long sent, CancellationToken cancellationToken)
    {
        long stored = 0;
        foreach (string topic in _topics)
        {
            for (int queue = 0; queue < plan.Queues; queue++)
            {
                EQueueAdmin admin = _client!.Admin;
                QueueOffset begin = await admin.FindOffsetAsync(topic, queue, StartPosition.Begin, cancellationToken);
                QueueOffset end = await admin.FindOffsetAsync(topic, queue, StartPosition.End, cancellationToken);
                stored += end.Value - begin.Value;
            }
        }

        figures[FigureNames.Missing] = Math.Max(0, sent - stored);
        figures[FigureNames.Duplicated] = Math.Max(0, stored - sent);
        figures.Note(FigureNames.Reordered, "nothing was consumed");
        figures.Note(FigureNames.Damaged, "nothing was consumed");
    }

    private Task<BrokerStats> ReadStatsAsync(CancellationToken cancellationToken) => BrokerStats.TakeAsync(
        _brokers.Count == 0 ? [_client!] : _brokers.Select(broker => broker.Client), cancellationToken);

    private void AddNotes(Figures figures)
    {
        if (plan.Consumers == 0)
        {
            const string note = "nothing was consumed";
            figures.Note(FigureNames.ConsumePerSecond, note);
            figures.Note(FigureNames.ConsumeMBps, note);
            figures.Note(FigureNames.Consumer, note);
            figures.Note(FigureNames.EndToEndLatency, note);
        }
        else if (plan.Size < BodyStamp.SizeWithTimestamp)
        {
            const string note = "bodies under 24 bytes have no timestamp";
            figures.Note(FigureNames.EndToEndLatency, note);
        }

        if (plan.Api == SendApi.Oneway)
            figures.Note(FigureNames.AckLatency, "oneway: nothing is acknowledged");
    }

    private ProducerOrder NewProducerOrder() => new(
        _server, plan.Producers, _topics, plan.Size, _options.Seed, _run, plan.SlotCount, plan.Api, plan.InFlight,
        plan.BatchCount, plan.SampleMask)
    {
        PinTopics = plan.PinTopics,
    };

    private ConsumerOrder NewConsumerOrder() => new(
        _server, plan.Consumers, GroupName, plan.IsGroup, _topics, plan.Queues, plan.Producers, plan.Size,
        _options.Seed, _run, plan.SlotCount, plan.ReadsBatches, plan.Rate is not null, plan.ConsumeRate,
        _options.ConsumerFaults)
    {
        GroupPerTopic = plan.GroupPerTopic,
        Brokers = plan.Brokers,
    };
}

/// <summary>What each process of a run has to know.</summary>
/// <param name="Group">Of the consumers, when they are members of one.</param>
internal sealed record RunTalk(RunBroker Broker, IReadOnlyList<string> Topics, string Group);
