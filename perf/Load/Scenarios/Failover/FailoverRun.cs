using EQueue.Load.Clusters;
using EQueue.Load.Consuming;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;
using EQueue.Load.Sending;

namespace EQueue.Load.Scenarios;

/// <summary>
/// The node that leads is killed, paused or stopped again and again, while a producer sends at an even rate and a consumer
/// reads: how long until the next message is acknowledged, and whether all is there once and in order at the end.
/// </summary>
internal sealed class FailoverRun(LoadSession session, RunPlan plan, NodeFault fault, int count) : IAsyncDisposable
{
    private const double SliceSeconds = 2;
    private const double QuietSeconds = 15;
    private const int MostQueuesOfATopic = 10_000;
    private const int LeastPauseMs = 100;
    private const int MostPauseMs = 600;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly uint _run = (uint)Random.Shared.Next();
    private readonly Random _random = new(session.Options.Seed);
    private readonly RunProcesses _processes = new(session);
    private readonly CancellationTokenSource _enough = new();
    private RunCluster? _cluster;
    private EQueueClient? _client;

    public async Task<Figures> RunAsync(CancellationToken cancellationToken)
    {
        _cluster = await RunCluster.StartAsync(session, plan.Flush, cancellationToken);
        _client = LoadClient.To(_cluster.Server);
        string topic = $"load-{_run:x8}";
        await MakeTopicsAsync(topic, cancellationToken);
        RoleProcess consumer = _processes.Start(RoleList.Consumer);
        await consumer.CallAsync("prepare", NewConsumerOrder(topic), cancellationToken);
        RoleProcess producer = _processes.Start(RoleList.Producer);
        await producer.CallAsync("prepare", NewProducerOrder(topic), cancellationToken);
        await using AckProbe probe = await AckProbe.StartAsync(_client, cancellationToken);
        Task<SendResult> sending = SendAsync(producer, cancellationToken);
        await Task.Delay(TimeSpan.FromSeconds(plan.Warmup), cancellationToken);
        var figures = new Figures();
        await HurtAsync(probe, sending, figures, cancellationToken);
        await _enough.CancelAsync();
        SendResult sent = await sending;
        await JudgeAsync(consumer, sent, probe, figures, cancellationToken);
        return figures;
    }

    public async ValueTask DisposeAsync()
    {
        if (_client is not null)
            await _client.DisposeAsync();
        await _processes.DisposeAsync();
        if (_cluster is not null)
            await _cluster.DisposeAsync();
        _enough.Dispose();
    }

    /// <summary>Queues beyond those that a topic may have lie in others, which are idle: a failover opens them
    /// too.</summary>
    private async Task MakeTopicsAsync(string topic, CancellationToken cancellationToken)
    {
        for (int made = 0; made < plan.Queues; made += MostQueuesOfATopic)
        {
            var settings = new TopicSettings { QueueCount = Math.Min(MostQueuesOfATopic, plan.Queues - made) };
            string name = made == 0 ? topic : $"{topic}-{made / MostQueuesOfATopic}";
            await _client!.Admin.CreateTopicAsync(name, settings, cancellationToken);
        }
    }

    private async Task HurtAsync(AckProbe probe, Task sending, Figures figures, CancellationToken cancellationToken)
    {
        var times = new LatencyHistogram();
        int first = 0, epoch = 0, single = 0;
        for (int number = 0; number <= count; number++)
        {
            ClusterState state = await _cluster!.HealthyAsync(cancellationToken);
            if (sending.IsFaulted)
                await sending;
            if (number == 0)
                first = state.Epoch;
            else if (state.Epoch == epoch + 1)
                single++;
            epoch = state.Epoch;
            if (number == count)
                break;
            await Task.Delay(_random.Next(LeastPauseMs, MostPauseMs), cancellationToken);
            times.Record(await HurtOnceAsync(state.Leader!, probe, cancellationToken));
        }

        figures.SetFailover(times);
        figures[FigureNames.Epochs] = epoch - first;
        figures[FigureNames.SingleEpochs] = single;
    }

    /// <returns>The longest time without an acknowledgement, from the fault on until another node has served.</returns>
    private async Task<long> HurtOnceAsync(string leader, AckProbe probe, CancellationToken cancellationToken)
    {
        probe.Begin();
        await _cluster!.HurtAsync(leader, fault, cancellationToken);
        try
        {
            return await probe.EndAsync(Patience, cancellationToken);
        }
        catch (TimeoutException)
        {
            throw LoadException.Failed(
                $"nothing is acknowledged {Patience.TotalSeconds} s after {fault} of {leader}: "
                + $"{await _cluster.StateAsync(cancellationToken)}");
        }
        finally
        {
            await _cluster.HealAsync(leader, fault, CancellationToken.None);
        }
    }

    /// <summary>Sends, a little at a time, until there is enough.</summary>
    private async Task<SendResult> SendAsync(RoleProcess producer, CancellationToken cancellationToken)
    {
        var order = new SendOrder(SliceSeconds, null, plan.Rate);
        while (true)
        {
            SendResult sent = await producer.CallAsync<SendResult>("send", order, cancellationToken);
            if (_enough.IsCancellationRequested)
                return sent;
        }
    }

    private async Task JudgeAsync(
        RoleProcess consumer, SendResult sent, AckProbe probe, Figures figures, CancellationToken cancellationToken)
    {
        long total = sent.SentInAll.Sum();
        figures[FigureNames.Messages] = total;
        await consumer.CallAsync<ExpectResult>("expect", new ExpectOrder(total, QuietSeconds), cancellationToken);
        JudgeResult verdict = await consumer.CallAsync<JudgeResult>(
            "judge", new JudgeOrder(sent.SentInAll), cancellationToken);
        figures.SetCheck(verdict.Check);
        (long missing, long repeated) = await probe.JudgeAsync(cancellationToken);
        figures[FigureNames.Missing] += missing;
        figures[FigureNames.Duplicated] += repeated;
    }

    private ProducerOrder NewProducerOrder(string topic) => new(
        _cluster!.Server, plan.Producers, [topic], plan.Size, session.Options.Seed, _run, plan.SlotCount, plan.Api,
        plan.InFlight, plan.BatchCount, plan.SampleMask);

    private ConsumerOrder NewConsumerOrder(string topic) => new(
        _cluster!.Server, plan.Consumers, $"load-{_run:x8}", plan.IsGroup, [topic],
        Math.Min(plan.Queues, MostQueuesOfATopic), plan.Producers, plan.Size, session.Options.Seed, _run,
        plan.SlotCount, plan.ReadsBatches, false, null, session.Options.ConsumerFaults);
}
