using EQueue.Load.Consuming;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;
using EQueue.Load.Sending;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Many producers send to a topic whose backlog is bounded and which no consumer reads, until each of them waits; then
/// a consumer comes: everything must go on by itself.
/// </summary>
internal sealed class BlockedRun(LoadSession session, BlockedPlan plan) : IAsyncDisposable
{
    /// <summary>Without a message for so long, no more will come.</summary>
    private const double QuietSeconds = 15;

    /// <summary>The backlog must have stood still for so long.</summary>
    private static readonly TimeSpan StillTime = TimeSpan.FromMilliseconds(300);

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(10);
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly RoleProcess _producer = session.Start(RoleList.Producer);
    private readonly RoleProcess _consumer = session.Start(RoleList.Consumer);
    private readonly uint _run = (uint)Random.Shared.Next();
    private RunBroker? _broker;

    public async Task<Figures> RunAsync(CancellationToken cancellationToken)
    {
        string topic = $"load-{_run:x8}";
        _broker = await RunBroker.StartAsync(session, plan.Flush, maxConnections: null, cancellationToken);
        string server = _broker.Server;
        await _broker.CreateTopicAsync(topic, plan.Queues, plan.Bound, cancellationToken);
        int seed = session.Options.Seed;
        await _producer.CallAsync(
            "prepare",
            new ProducerOrder(
                server, plan.Producers, [topic], plan.Size, seed, _run, plan.SlotCount, SendApi.Message, plan.InFlight,
                1, 0),
            cancellationToken);
        long[] shares = [.. Enumerable.Repeat((long)plan.MessagesOfEach, plan.Producers)];
        Task<SendResult> sending = _producer.CallAsync<SendResult>("send", new SendOrder(0, shares, null), cancellationToken);
        (long depth, long waiting) = await WaitUntilBlockedAsync(topic, sending, cancellationToken);

        long resumedNs = Clock.NowNs;
        await _consumer.CallAsync(
            "prepare",
            new ConsumerOrder(
                server, 1, "blocked", true, [topic], plan.Queues, plan.Producers, plan.Size, seed, _run, plan.SlotCount,
                false, false, null, session.Options.ConsumerFaults),
            cancellationToken);
        long total = (long)plan.MessagesOfEach * plan.Producers;
        ExpectResult consumed = await _consumer.CallAsync<ExpectResult>(
            "expect", new ExpectOrder(total, QuietSeconds), cancellationToken);
        SendResult sent = await sending;
        var order = new JudgeOrder(sent.SentInAll);
        JudgeResult verdict = await _consumer.CallAsync<JudgeResult>("judge", order, cancellationToken);
        var figures = new Figures
        {
            [FigureNames.Messages] = sent.Messages,
            [FigureNames.MaxDepth] = depth,
            [FigureNames.BlockedBatches] = waiting,
            [FigureNames.ResumeSeconds] = (consumed.LastConsumedNs - resumedNs) / 1e9,
        };
        figures.SetCheck(verdict.Check);
        await RunBroker.CheckFilesAsync([_broker], figures, total, session.Options.Faults, cancellationToken);
        return figures;
    }

    public async ValueTask DisposeAsync()
    {
        await Task.WhenAll(_producer.DisposeAsync().AsTask(), _consumer.DisposeAsync().AsTask());
        if (_broker is not null)
            await _broker.DisposeAsync();
    }

    /// <summary>Waits until the backlog is at its bound, each producer waits, and nothing changes any more.</summary>
    /// <exception cref="LoadException">The bound was passed, or it does not come to that.</exception>
    private async Task<(long Depth, long Waiting)> WaitUntilBlockedAsync(
        string topic, Task<SendResult> sending, CancellationToken cancellationToken)
    {
        long started = TimeProvider.System.GetTimestamp();
        (long changed, (long Depth, long Waiting) last) = (started, (Depth: -1L, Waiting: -1L));
        while (true)
        {
            if (sending.IsCompleted)
                throw LoadException.Failed($"{(await sending).Messages} messages are in, the bound is {plan.Bound}");
            BrokerStats stats = await _broker!.ReadStatsAsync(cancellationToken);
            (long Depth, long Waiting) now = (Depth: stats.Find($"backlog.messages{{{topic}}}") ?? 0,
                Waiting: stats.Find($"backlog.parked{{{topic}}}") ?? 0);
            if (now.Depth > plan.Bound)
                throw LoadException.Failed($"the backlog has {now.Depth} messages, its bound is {plan.Bound}");
            if (now != last)
                (changed, last) = (TimeProvider.System.GetTimestamp(), now);
            if (now.Waiting >= plan.Producers && TimeProvider.System.GetElapsedTime(changed) >= StillTime)
                return now;
            if (TimeProvider.System.GetElapsedTime(started) > Patience)
                throw LoadException.Failed($"{now.Waiting} batches of {plan.Producers} producers wait");
            await Task.Delay(PollInterval, cancellationToken);
        }
    }
}

/// <summary>What the runs have in common.</summary>
/// <param name="Bound">Messages of the backlog.</param>
/// <param name="MessagesOfEach">That each producer sends.</param>
internal sealed record BlockedPlan(int Producers, int Size, int Bound, int MessagesOfEach, FlushMode Flush)
{
    public int Queues => 4;

    /// <summary>Messages that each producer has under way, so that none of them gets all of its own in.</summary>
    public int InFlight => 10;

    public int SlotCount => InFlight + 2;

    public IReadOnlyList<(string Name, object? Value)> Describe() =>
    [
        ("size", Size),
        ("producers", Producers),
        ("consumers", 1),
        ("queues", Queues),
        ("flush", Flush.ToString().ToLowerInvariant()),
        ("inFlight", InFlight),
        ("maxBacklog", Bound),
        ("messagesOfEach", MessagesOfEach),
    ];
}
