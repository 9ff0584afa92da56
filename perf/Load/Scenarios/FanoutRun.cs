using EQueue.Client;
using EQueue.Load.Consuming;
using EQueue.Load.Fanning;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;
using EQueue.Load.Sending;
using EQueue.Protocol;

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
    private readonly List<RoleProcess> _processes = [];
    private readonly List<string> _directories = [];
    private RoleProcess? _forward;

    public async Task<Figures> RunAsync(CancellationToken cancellationToken)
    {
        var topic = $"load-{_run:x8}";
        var source = await StartBrokerAsync(topic, cancellationToken);
        var read = source;
        if (plan.IsProxied)
        {
            read = await StartBrokerAsync(topic, cancellationToken);
            _forward = Start(RoleList.Forward);
            var order = new ForwardOrder($"{source}/{topic}", $"{read}/{topic}");
            await _forward.CallAsync("start", order, cancellationToken);
        }

        var subscribers = Enumerable.Range(0, plan.Subscribers).Select(_ => Start(RoleList.Consumer)).ToArray();
        await Task.WhenAll(subscribers.Select((each, number) => each.CallAsync(
            "prepare", NewConsumerOrder(read, topic, isFirst: number == 0), cancellationToken)));
        var producer = Start(RoleList.Producer);
        await producer.CallAsync("prepare", NewProducerOrder(source, topic), cancellationToken);
        await using var client = new EQueueClient(source);
        return await MeasureAsync(client, producer, subscribers, cancellationToken);
    }

    /// <summary>Stops the processes, the last started first, and gives the disk back.</summary>
    public async ValueTask DisposeAsync()
    {
        _processes.Reverse();
        foreach (var processes in _processes.Chunk(1 + plan.Subscribers))
            await Task.WhenAll(processes.Select(process => process.DisposeAsync().AsTask()));
        _directories.ForEach(Workspace.Remove);
    }

    private RoleProcess Start(string role)
    {
        var process = session.Start(role);
        _processes.Add(process);
        return process;
    }

    private async Task<string> StartBrokerAsync(string topic, CancellationToken cancellationToken)
    {
        var broker = Start(RoleList.Broker);
        var directory = session.Workspace.NewPath("fanout");
        _directories.Add(directory);
        var order = new BrokerOrder(directory, plan.Flush);
        var server = (await broker.CallAsync<BrokerResult>("start", order, cancellationToken)).Server;
        await using var client = new EQueueClient(server);
        var settings = new TopicSettings { QueueCount = plan.Queues };
        await client.Admin.CreateTopicAsync(topic, settings, cancellationToken);
        return server;
    }

    private async Task<Figures> MeasureAsync(
        EQueueClient client, RoleProcess producer, RoleProcess[] subscribers, CancellationToken cancellationToken)
    {
        var warm = await SendAsync(producer, plan.WarmMessages, cancellationToken);
        await ExpectAsync(subscribers, warm, cancellationToken);
        var starts = await Task.WhenAll(subscribers.Select(
            each => each.CallAsync<ProcessFigures>("measure", null, cancellationToken)));
        var brokerStart = await client.Admin.StatsAsync(cancellationToken);
        var expecting = ExpectAsync(subscribers, plan.WarmMessages + plan.Messages, cancellationToken);
        var sent = await SendAsync(producer, plan.Messages, cancellationToken);
        var consumed = await expecting;
        var brokerEnd = await client.Admin.StatsAsync(cancellationToken);
        if (_forward is not null)
            await _forward.CallAsync("check", null, cancellationToken);
        var verdicts = await Task.WhenAll(subscribers.Select(
            each => each.CallAsync<JudgeResult>("judge", new JudgeOrder(sent.SentInAll), cancellationToken)));

        var figures = new Figures();
        SetRates(figures, sent, consumed, verdicts);
        var seconds = (consumed.Max(each => each.LastConsumedNs) - sent.FirstSentNs) / 1e9;
        BrokerRun.SetBroker(figures, brokerStart, brokerEnd, sent.Messages, seconds);
        figures.SetProcess(FigureNames.Producer, sent.Start, sent.End, sent.Messages);
        SetSubscribers(figures, starts, consumed, sent.Messages);
        figures.SetCheck(new CheckResult(
            verdicts.Sum(each => each.Check.Missing), verdicts.Sum(each => each.Check.Duplicated),
            verdicts.Sum(each => each.Check.Reordered), verdicts.Sum(each => each.Check.Damaged)));
        return figures;
    }

    /// <summary>Rates from the first send to the end, and those of windows of messages.</summary>
    private void SetRates(Figures figures, SendResult sent, ExpectResult[] consumed, JudgeResult[] verdicts)
    {
        var sendSeconds = (sent.LastAckedNs - sent.FirstSentNs) / 1e9;
        var rates = consumed.Select(each => sent.Messages * 1e9 / (each.LastConsumedNs - sent.FirstSentNs)).ToArray();
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
        var windows = verdicts.Select(each => each.WindowPerSecond).OfType<double>().ToArray();
        if (windows.Length == verdicts.Length)
        {
            figures[FigureNames.ReceiveWindowPerSecond] = Statistics.Median(windows);
            figures[FigureNames.ReceiveMegabitsPerSecond] = Statistics.Median(windows) * plan.Size * 8 / 1e6;
        }

        var note = $"not more than {WindowRates.Window} messages";
        figures.Note(FigureNames.SendWindowPerSecond, note);
        figures.Note(FigureNames.ReceiveWindowPerSecond, note);
        figures.SetLatency(FigureNames.AckLatency, LatencyHistogram.From(sent.Ack));
        var endToEnd = new LatencyHistogram();
        foreach (var verdict in verdicts)
            endToEnd.Add(verdict.EndToEnd);
        figures.SetLatency(FigureNames.EndToEndLatency, endToEnd);
    }

    /// <summary>What all subscribers' processes used together.</summary>
    private static void SetSubscribers(Figures figures, ProcessFigures[] starts, ExpectResult[] ends, long messages)
    {
        var allocated = ends.Sum(end => end.Figures.AllocatedBytes) - starts.Sum(start => start.AllocatedBytes);
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
        RoleProcess[] subscribers, SendResult sent, CancellationToken cancellationToken) =>
        ExpectAsync(subscribers, sent.SentInAll.Sum(), cancellationToken);

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
        false, null, isFirst ? session.Options.Plant : Plant.None)
    {
        InWindows = true,
    };
}
