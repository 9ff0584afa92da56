using EQueue.Load.Consuming;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;
using EQueue.Load.Sending;

namespace EQueue.Load.Scenarios;

/// <summary>
/// One measured run of one producer and several subscribers, a process each, directly or over a second broker: fresh
/// brokers, subscribers first, some messages to warm up, then those that count, then the verdict of each subscriber.
/// </summary>
internal sealed class FanoutRun(LoadSession session, FanoutPlan plan) : IAsyncDisposable
{
    /// <summary>Without a message for so long, no more will come.</summary>
    private const double QuietSeconds = 15;

    private readonly uint _run = (uint)Random.Shared.Next();
    private readonly RunProcesses _processes = new(session);
    private readonly List<RunBroker> _brokers = [];
    private RoleProcess? _forward;

    public async Task<Figures> RunAsync(CancellationToken cancellationToken)
    {
        string topic = $"load-{_run:x8}";
        RunBroker source = await StartBrokerAsync(topic, cancellationToken);
        RunBroker read = source;
        if (plan.IsProxied)
        {
            read = await StartBrokerAsync(topic, cancellationToken);
            _forward = _processes.Start(RoleList.Forward);
            var order = new ForwardOrder($"{source.Server}/{topic}", $"{read.Server}/{topic}");
            await _forward.CallAsync("start", order, cancellationToken);
        }

        RoleProcess[] subscribers = Enumerable.Range(0, plan.Subscribers).Select(_ => _processes.Start(RoleList.Consumer)).ToArray();
        await Task.WhenAll(subscribers.Select((each, number) => each.CallAsync(
            "prepare", NewConsumerOrder(read.Server, topic, isFirst: number == 0), cancellationToken)));
        RoleProcess producer = _processes.Start(RoleList.Producer);
        await producer.CallAsync("prepare", NewProducerOrder(source.Server, topic), cancellationToken);
        return await MeasureAsync(source, producer, subscribers, cancellationToken);
    }

    /// <summary>Stops the processes, clients before the brokers, and gives the disk back.</summary>
    public async ValueTask DisposeAsync()
    {
        await _processes.DisposeAsync();
        foreach (RunBroker broker in _brokers)
            await broker.DisposeAsync();
    }

    private async Task<RunBroker> StartBrokerAsync(string topic, CancellationToken cancellationToken)
    {
        RunBroker broker = await RunBroker.StartAsync(session, plan.Flush, maxConnections: null, cancellationToken);
        _brokers.Add(broker);
        await broker.CreateTopicAsync(topic, plan.Queues, maxBacklog: null, cancellationToken);
        return broker;
    }

    private async Task<Figures> MeasureAsync(
        RunBroker source, RoleProcess producer, RoleProcess[] subscribers, CancellationToken cancellationToken)
    {
        long warmed = await WarmUpAsync(producer, subscribers, cancellationToken);
        ProcessFigures[] starts = await Task.WhenAll(subscribers.Select(
            each => each.CallAsync<ProcessFigures>("measure", null, cancellationToken)));
        BrokerStats brokerStart = await source.ReadStatsAsync(cancellationToken);
        Task<ExpectResult[]> expecting = ExpectAsync(subscribers, warmed + plan.Messages, cancellationToken);
        SendResult sent = await SendAsync(producer, plan.Messages, cancellationToken);
        ExpectResult[] consumed = await expecting;
        BrokerStats brokerEnd = await source.ReadStatsAsync(cancellationToken);
        if (_forward is not null)
            await _forward.CallAsync("check", null, cancellationToken);
        JudgeResult[] verdicts = await Task.WhenAll(subscribers.Select(
            each => each.CallAsync<JudgeResult>("judge", new JudgeOrder(sent.SentInAll), cancellationToken)));

        var figures = new Figures();
        SetRates(figures, sent, consumed, verdicts);
        double seconds = (consumed.Max(each => each.LastConsumedNs) - sent.FirstSentNs) / 1e9;
        brokerEnd.SetFigures(figures, brokerStart, sent.Messages, seconds);
        figures.SetProcess(FigureNames.Producer, sent.Start, sent.End, sent.Messages);
        SetSubscribers(figures, starts, consumed, sent.Messages);
        figures.SetCheck(new CheckResult(
            verdicts.Sum(each => each.Check.Missing), verdicts.Sum(each => each.Check.Duplicated),
            verdicts.Sum(each => each.Check.Reordered), verdicts.Sum(each => each.Check.Damaged)));
        await RunBroker.CheckFilesAsync(
            [source], figures, sent.SentInAll.Sum(), session.Options.Faults, cancellationToken);
        return figures;
    }

    /// <returns>How many messages that took.</returns>
    private async Task<long> WarmUpAsync(
        RoleProcess producer, RoleProcess[] subscribers, CancellationToken cancellationToken)
    {
        long endNs = Clock.NowNs + (long)(plan.Warmup * 1e9);
        SendResult warm;
        do
        {
            warm = await SendAsync(producer, plan.WarmMessages, cancellationToken);
            await ExpectAsync(subscribers, warm.SentInAll.Sum(), cancellationToken);
        }
        while (Clock.NowNs < endNs);
        return warm.SentInAll.Sum();
    }

    /// <summary>Rates from the first send to the end, and those of windows of messages.</summary>
    private void SetRates(Figures figures, SendResult sent, ExpectResult[] consumed, JudgeResult[] verdicts)
    {
        double sendSeconds = (sent.LastAckedNs - sent.FirstSentNs) / 1e9;
        double[] rates = consumed.Select(each => sent.Messages * 1e9 / (each.LastConsumedNs - sent.FirstSentNs)).ToArray();
        figures[FigureNames.Messages] = sent.Messages;
        figures[FigureNames.ElapsedSeconds] = (consumed.Max(each => each.LastConsumedNs) - sent.FirstSentNs) / 1e9;
        figures[FigureNames.SendPerSecond] = sent.Messages / sendSeconds;
        figures[FigureNames.SendMBps] = sent.Messages * (double)plan.Size / sendSeconds / 1e6;
        figures[FigureNames.ConsumePerSecond] = rates.Min();
        figures[FigureNames.ConsumeMBps] = rates.Min() * plan.Size / 1e6;
        figures[FigureNames.SubscribersPerSecond] = rates.Sum();
        figures.SubscriberPerSecond = rates;
        figures[FigureNames.SendWindowPerSecond] = sent.WindowPerSecond;
        figures[FigureNames.SendMegabitsPerSecond] = sent.WindowPerSecond * plan.Size * 8 / 1e6;
        double[] windows = verdicts.Select(each => each.WindowPerSecond).OfType<double>().ToArray();
        if (windows.Length == verdicts.Length)
        {
            figures[FigureNames.ReceiveWindowPerSecond] = Statistics.Median(windows);
            figures[FigureNames.ReceiveMegabitsPerSecond] = Statistics.Median(windows) * plan.Size * 8 / 1e6;
        }

        string note = $"not more than {WindowRates.Window} messages";
        figures.Note(FigureNames.SendWindowPerSecond, note);
        figures.Note(FigureNames.ReceiveWindowPerSecond, note);
        figures.SetLatency(FigureNames.AckLatency, LatencyHistogram.From(sent.Ack));
        var endToEnd = new LatencyHistogram();
        foreach (JudgeResult verdict in verdicts)
            endToEnd.Add(verdict.EndToEnd);
        figures.SetLatency(FigureNames.EndToEndLatency, endToEnd);
    }

    /// <summary>What all subscribers' processes used together.</summary>
    private static void SetSubscribers(Figures figures, ProcessFigures[] starts, ExpectResult[] ends, long messages)
    {
        long allocated = ends.Sum(end => end.Figures.AllocatedBytes) - starts.Sum(start => start.AllocatedBytes);
        figures[FigureNames.Of(FigureNames.Consumer, FigureNames.CpuPercent)] =
            ends.Zip(starts, (end, start) => end.Figures.CpuPercentSince(start)).Sum();
        figures[FigureNames.Of(FigureNames.Consumer, FigureNames.ResidentBytes)] =
            ends.Sum(end => end.Figures.ResidentBytes);
        figures[FigureNames.Of(FigureNames.Consumer, FigureNames.AllocatedBytesPerMessage)] =
            (double)allocated / (messages * ends.Length);
    }

    private static Task<SendResult> SendAsync(
        RoleProcess producer, long messages, CancellationToken cancellationToken) =>
        producer.CallAsync<SendResult>("send", new SendOrder(0, [messages], null), cancellationToken);

    private static Task<ExpectResult[]> ExpectAsync(
        RoleProcess[] subscribers, long total, CancellationToken cancellationToken) =>
        Task.WhenAll(subscribers.Select(each => each.CallAsync<ExpectResult>(
            "expect", new ExpectOrder(total, QuietSeconds), cancellationToken)));

    private ProducerOrder NewProducerOrder(string server, string topic) => new(
        server, 1, [topic], plan.Size, session.Options.Seed, _run, plan.SlotCount, SendApi.Message, plan.InFlight, 1,
        SequenceChecker.SampleInterval - 1)
    {
        InWindows = true,
    };

    private ConsumerOrder NewConsumerOrder(string server, string topic, bool isFirst) => new(
        server, 1, topic, false, [topic], plan.Queues, 1, plan.Size, session.Options.Seed, _run, plan.SlotCount, false,
        false, null, isFirst ? session.Options.ConsumerFaults : Faults.None)
    {
        InWindows = true,
    };
}
