using EQueue.Load.Limit;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;
using EQueue.Load.Sending;

namespace EQueue.Load.Scenarios;

/// <summary>A data directory that is written on, left by a kill, and started from, again and again.</summary>
internal sealed class RecoveryCase(LoadSession session, RecoveryPlan plan) : IAsyncDisposable
{
    private const int MaxQueuesOfTopic = 10_000;

    /// <summary>What is read before a warm start: more than a start ever looks at.</summary>
    private const long WarmBytes = 4L << 30;

    private static readonly TimeSpan AdminTimeout = TimeSpan.FromSeconds(60);

    private readonly RoleProcess _server = session.Start(RoleList.Server);
    private readonly string _directory = session.Workspace.NewPath("recovery");
    private readonly uint _run = (uint)Random.Shared.Next();
    private readonly List<string> _topics = [];
    private long _messages;

    /// <summary>Makes the topics and writes what every start finds.</summary>
    public async Task PrepareAsync(CancellationToken cancellationToken)
    {
        ServerResult server = await StartAsync(_directory, cancellationToken);
        await using (EQueueClient client = NewClient(server))
        {
            for (int left = plan.Queues; left > 0; left -= MaxQueuesOfTopic)
            {
                string topic = $"load-{_run:x8}-{_topics.Count}";
                var settings = new TopicSettings { QueueCount = Math.Min(left, MaxQueuesOfTopic) };
                await client.Admin.CreateTopicAsync(topic, settings, cancellationToken);
                _topics.Add(topic);
            }
        }

        await _server.CallAsync("kill", null, cancellationToken);
        await WriteAsync(isFirst: true, cancellationToken);
    }

    /// <summary>One measured start, out of what a kill left behind.</summary>
    public async Task<Figures> MeasureAsync(bool isWarm, CancellationToken cancellationToken)
    {
        string empty = session.Workspace.NewPath("empty");
        ServerResult reference = await StartAsync(empty, cancellationToken);
        await _server.CallAsync("kill", null, cancellationToken);
        Workspace.Remove(empty);

        await WriteAsync(isFirst: false, cancellationToken);
        if (session.Options.Faults.HasFlag(Faults.Short))
            LogTally.Shorten(_directory);
        PageCache.Drop(_directory);
        if (isWarm)
            PageCache.Warm(_directory, WarmBytes);
        ServerResult server = await StartAsync(_directory, cancellationToken);
        await using EQueueClient client = NewClient(server);
        long stored = await CountAsync(client, cancellationToken) - InjectedCount();
        BrokerFigures stats = await client.Admin.ReadFiguresAsync(cancellationToken);
        await _server.CallAsync("kill", null, cancellationToken);
        var figures = new Figures
        {
            [FigureNames.ReadySeconds] = server.Seconds,
            [FigureNames.Messages] = _messages,
            [FigureNames.BytesWritten] = stats.Find("store.durablePosition"),
            [FigureNames.Missing] = Math.Max(0, _messages - stored),
            [FigureNames.Duplicated] = Math.Max(0, stored - _messages),
            [FigureNames.Of(FigureNames.Broker, FigureNames.ResidentBytes)] = server.ResidentBytes,
            [FigureNames.Of(FigureNames.Broker, FigureNames.CpuPercent)] = server.CpuPercent,
        };
        figures.SetReference("the server's start with an empty directory, s", reference.Seconds);
        return figures;
    }

    public async ValueTask DisposeAsync()
    {
        await _server.DisposeAsync();
        Workspace.Remove(_directory);
    }

    private Task<ServerResult> StartAsync(string directory, CancellationToken cancellationToken) =>
        _server.CallAsync<ServerResult>("start", new ServerOrder(directory, plan.Flush), cancellationToken);

    private static EQueueClient NewClient(ServerResult server) =>
        new(LoadClient.OptionsFor(server.Server) with { RequestTimeout = AdminTimeout });

    private Task WriteAsync(bool isFirst, CancellationToken cancellationToken) => plan.IsByStore
        ? FillAsync(isFirst ? plan.Rounds : 1, cancellationToken)
        : SendAsync(isFirst ? plan.Messages : plan.TailMessages, cancellationToken);

    /// <summary>A producer sends to the server, which is killed behind the last receipt.</summary>
    private async Task SendAsync(long messages, CancellationToken cancellationToken)
    {
        ServerResult server = await StartAsync(_directory, cancellationToken);
        await using RoleProcess producer = session.Start(RoleList.Producer);
        var load = RunPlan.From(session.Options with { InFlight = null }, plan.Size);
        var order = new ProducerOrder(
            server.Server, 1, _topics, plan.Size, session.Options.Seed, _run, load.SlotCount, SendApi.Message,
            load.InFlight, load.BatchCount, load.SampleMask);
        await producer.CallAsync("prepare", order, cancellationToken);
        var stretch = new SendOrder(0, [messages], null);
        SendResult sent = await producer.CallAsync<SendResult>("send", stretch, cancellationToken);
        await _server.CallAsync("kill", null, cancellationToken);
        _messages += sent.Messages;
    }

    /// <summary>A process fills the queues by the store itself; it is killed behind the last acknowledgement.</summary>
    private async Task FillAsync(int rounds, CancellationToken cancellationToken)
    {
        await using RoleProcess fill = session.Start(RoleList.Fill);
        var order = new FillOrder(
            _directory, plan.Flush, plan.Size, plan.BatchMessages, rounds, session.Options.Seed);
        _messages += (await fill.CallAsync<FillResult>("fill", order, cancellationToken)).Messages;
        await fill.KillAsync();
    }

    private async Task<long> CountAsync(EQueueClient client, CancellationToken cancellationToken)
    {
        long stored = 0;
        foreach (string topic in _topics)
        {
            TopicDescription description = await client.Admin.DescribeTopicAsync(topic, cancellationToken);
            stored += description.Queues.Sum(queue => queue.End.Value - queue.Start.Value);
        }

        return stored;
    }

    /// <summary>A message too few or too many, to show that it is noticed.</summary>
    private int InjectedCount() => session.Options.Faults switch
    {
        Faults.Missing => 1,
        Faults.Duplicate => -1,
        _ => 0,
    };
}

/// <summary>What is written before the starts.</summary>
/// <param name="IsByStore">By the store in a process of its own; else by a producer through the server.</param>
/// <param name="Messages">Before the first start.</param>
/// <param name="TailMessages">Before each start by a producer.</param>
/// <param name="Rounds">Batches in each queue before the first start by the store; one more before each.</param>
/// <param name="BatchMessages">Of a batch written by the store.</param>
internal sealed record RecoveryPlan(
    string Kind,
    bool IsByStore,
    FlushMode Flush,
    int Size,
    int Queues,
    long Messages,
    long TailMessages,
    int Rounds,
    int BatchMessages);
