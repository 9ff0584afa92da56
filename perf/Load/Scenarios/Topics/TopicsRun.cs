using System.Globalization;
using EQueue.Load.Measuring;
using EQueue.Load.Reporting;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>
/// A server whose topics are made, listed and described with <c>equeue</c>, and which is then left alone, waited on
/// over all queues by one consumer, killed and started again.
/// </summary>
internal sealed class TopicsRun(LoadSession session, TopicsPlan plan) : IAsyncDisposable
{
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(10);

    /// <summary>A consumer waits, or hears of a message, sooner than this, or not at all.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly RoleProcess _process = session.Start(RoleList.Server);
    private readonly string _directory = session.Workspace.NewPath("topics");
    private readonly string _file = session.Workspace.NewPath("names");
    private readonly string[] _names = NewNames(plan.Topics);
    private readonly Figures _figures = new();
    private CheckResult _check = new(0, 0, 0, 0);
    private string _server = string.Empty;
    private RoleProcess? _consumer;

    public async Task<Figures> RunAsync(CancellationToken cancellationToken)
    {
        await File.WriteAllLinesAsync(_file, _names, cancellationToken);
        _server = (await StartAsync(cancellationToken)).Server;
        await AdministerAsync(cancellationToken);
        await using (EQueueClient client = LoadClient.To(_server))
        {
            (double? cpuPercent, double? residentBytes) = await RestAsync(client, cancellationToken);
            _figures[FigureNames.Of(FigureNames.Broker, FigureNames.CpuPercent)] = cpuPercent;
            _figures[FigureNames.Of(FigureNames.Broker, FigureNames.ResidentBytes)] = residentBytes;
            await WatchAsync(client, cancellationToken);
        }

        await ReopenAsync(cancellationToken);
        _figures.SetCheck(_check);
        return _figures;
    }

    public async ValueTask DisposeAsync()
    {
        if (_consumer is not null)
            await _consumer.DisposeAsync();
        await _process.DisposeAsync();
        Workspace.Remove(_directory);
        Workspace.Remove(_file);
    }

    private static string[] NewNames(int count)
    {
        uint run = (uint)Random.Shared.Next();
        return [.. Enumerable.Range(0, count).Select(
            number => string.Create(CultureInfo.InvariantCulture, $"load-{run:x8}-{number:D6}"))];
    }

    private Task<ServerResult> StartAsync(CancellationToken cancellationToken) =>
        _process.CallAsync<ServerResult>("start", new ServerOrder(_directory, plan.Flush), cancellationToken);

    /// <summary>Makes, lists and describes all topics, a process each.</summary>
    private async Task AdministerAsync(CancellationToken cancellationToken)
    {
        string queues = plan.Queues.ToString(CultureInfo.InvariantCulture);
        string[] create = ["topic", "create", "--lines", _file, "--queues", queues, "--json"];
        _figures[FigureNames.CreateSeconds] = await AskAsync(create, Faults.None, cancellationToken);
        await using (EQueueClient client = LoadClient.To(_server))
        {
            BrokerFigures stats = await client.Admin.ReadFiguresAsync(cancellationToken);
            _figures[FigureNames.BytesWritten] = stats.Find("store.bytesWritten");
            _figures[FigureNames.Fdatasyncs] = stats.Find("store.fdatasyncs");
        }

        _figures[FigureNames.ListSeconds] = await AskAsync(
            ["topic", "list", "--json"], session.Options.Faults, cancellationToken);
        _figures[FigureNames.DescribeSeconds] = await AskAsync(
            ["topic", "describe", "--lines", _file, "--json"], Faults.None, cancellationToken);
    }

    /// <summary>Runs a command whose lines must name every topic; gives the seconds that it took.</summary>
    private async Task<double> AskAsync(string[] command, Faults faults, CancellationToken cancellationToken)
    {
        CliOutcome outcome = await CliTool.RunAsync(_server, command, cancellationToken);
        Add(ListedTopics.Judge(outcome.Lines, _names, plan.Queues, faults));
        return outcome.Seconds;
    }

    /// <summary>What the server uses while nothing is asked of it but its figures, twice.</summary>
    private async Task<(double? CpuPercent, double? ResidentBytes)> RestAsync(
        EQueueClient client, CancellationToken cancellationToken)
    {
        await Task.Delay(TimeSpan.FromSeconds(plan.Warmup), cancellationToken);
        BrokerFigures before = await client.Admin.ReadFiguresAsync(cancellationToken);
        await Task.Delay(TimeSpan.FromSeconds(plan.Seconds), cancellationToken);
        BrokerFigures after = await client.Admin.ReadFiguresAsync(cancellationToken);
        const string cpu = "process.cpuMicroseconds";
        const string uptime = "process.uptimeMilliseconds";
        double? busyMs = (after.Find(cpu) - before.Find(cpu)) / 1e3;
        return (busyMs / (after.Find(uptime) - before.Find(uptime)) * 100, after.Find("process.residentBytes"));
    }

    /// <summary>The same while a consumer waits, which then must hear of the one message that is sent.</summary>
    private async Task WatchAsync(EQueueClient client, CancellationToken cancellationToken)
    {
        _consumer = session.Start(RoleList.Watch);
        WatchResult watched = await _consumer.CallAsync<WatchResult>(
            "watch", new WatchOrder(_server, _names), cancellationToken);
        if (watched.Queues != plan.Topics * plan.Queues)
            throw LoadException.Failed($"the reader waits for {watched.Queues} queues of {plan.Topics * plan.Queues}");
        await WaitUntilParkedAsync(client, cancellationToken);
        (double? cpuPercent, double? residentBytes) = await RestAsync(client, cancellationToken);
        _figures[FigureNames.WatchCpuPercent] = cpuPercent;
        _figures[FigureNames.WatchResidentBytes] = residentBytes;

        string topic = _names[_names.Length / 2];
        await using Producer producer = client.CreateProducer();
        using var patience = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken);
        patience.CancelAfter(Patience);
        await producer.SendAsync(topic, "one of many queues"u8.ToArray(), cancellationToken: patience.Token);
        if (!await _consumer.CallAsync<bool>("expect", topic, patience.Token))
            Add(new CheckResult(1, 0, 0, 0));
        await _consumer.DisposeAsync();
        _consumer = null;
    }

    private static async Task WaitUntilParkedAsync(EQueueClient client, CancellationToken cancellationToken)
    {
        long started = TimeProvider.System.GetTimestamp();
        while ((await client.Admin.ReadFiguresAsync(cancellationToken)).Find("broker.parkedFetches") is not > 0)
        {
            if (TimeProvider.System.GetElapsedTime(started) > Patience)
                throw LoadException.Failed($"no fetch waits at the broker after {Patience.TotalSeconds} s");
            await Task.Delay(PollInterval, cancellationToken);
        }
    }

    /// <summary>Kills the server, starts it again, and looks whether every topic is there.</summary>
    private async Task ReopenAsync(CancellationToken cancellationToken)
    {
        await _process.CallAsync("kill", null, cancellationToken);
        ServerResult again = await StartAsync(cancellationToken);
        _server = again.Server;
        _figures[FigureNames.ReadySeconds] = again.Seconds;
        _figures[FigureNames.ReopenedResidentBytes] = again.ResidentBytes;
        await AskAsync(["topic", "list", "--json"], Faults.None, cancellationToken);
        await _process.CallAsync("kill", null, cancellationToken);
    }

    private void Add(CheckResult check) => _check = new CheckResult(
        _check.Missing + check.Missing,
        _check.Duplicated + check.Duplicated,
        _check.Reordered + check.Reordered,
        _check.Damaged + check.Damaged);
}

/// <summary>What the runs have in common.</summary>
/// <param name="Queues">Of each topic.</param>
/// <param name="Warmup">Seconds of rest before memory and CPU are looked at.</param>
/// <param name="Seconds">For which the CPU is looked at.</param>
internal sealed record TopicsPlan(int Topics, int Queues, FlushMode Flush, double Warmup, double Seconds);
