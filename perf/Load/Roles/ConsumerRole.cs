using System.Text.Json;
using EQueue.Load.Consuming;
using EQueue.Load.Measuring;

namespace EQueue.Load.Roles;

/// <summary>
/// All consumers of a run: <c>prepare</c> with a <see cref="ConsumerOrder"/>, <c>expect</c> a number of messages,
/// <c>measure</c> from now on, <c>judge</c> what came.
/// </summary>
internal sealed class ConsumerRole : IRole
{
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(1);

    /// <summary>The members of a group have their queues sooner.</summary>
    private static readonly TimeSpan SharingTimeout = TimeSpan.FromSeconds(60);

    /// <summary>How long to look for messages too many.</summary>
    private static readonly TimeSpan LingerTime = TimeSpan.FromMilliseconds(100);

    private readonly CancellationTokenSource _stop = new();
    private readonly LatencyHistogram _endToEnd = new();
    private readonly List<ConsumeLane> _lanes = [];
    private readonly List<Task> _loops = [];

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        switch (command)
        {
            case "prepare":
                await PrepareAsync(RoleJson.Read<ConsumerOrder>(argument), cancellationToken);
                return null;
            case "expect":
                return await ExpectAsync(RoleJson.Read<ExpectOrder>(argument), cancellationToken);
            case "measure":
                _endToEnd.Clear();
                _lanes.ForEach(lane => lane.Begin());
                return ProcessFigures.TakeWithSockets();
            default:
                return await JudgeAsync(RoleJson.Read<JudgeOrder>(argument));
        }
    }

    public async ValueTask DisposeAsync()
    {
        await StopAsync();
        foreach (ConsumeLane lane in _lanes)
            await lane.DisposeAsync();
        _stop.Dispose();
    }

    private async Task PrepareAsync(ConsumerOrder order, CancellationToken cancellationToken)
    {
        for (int number = 0; number < order.Consumers; number++)
            _lanes.Add(await ConsumeLane.StartAsync(order, number, _endToEnd, cancellationToken));
        await WaitUntilSharedAsync(order, cancellationToken);
        _loops.AddRange(_lanes.Select(lane => Task.Run(() => lane.RunAsync(_stop.Token), CancellationToken.None)));
    }

    /// <summary>Waits until every queue has its reader and each reader its share.</summary>
    private async Task WaitUntilSharedAsync(ConsumerOrder order, CancellationToken cancellationToken)
    {
        int queues = order.Topics.Count * order.Queues;
        int least = order.InGroup ? LeastShare(order) : 0;
        long started = TimeProvider.System.GetTimestamp();
        while (_lanes.Sum(lane => lane.QueueCount) != queues || _lanes.Any(lane => lane.QueueCount < least))
        {
            if (TimeProvider.System.GetElapsedTime(started) > SharingTimeout)
                throw LoadException.Failed($"{queues} queues are not shared out after {SharingTimeout.TotalSeconds} s");
            await Task.Delay(PollInterval, cancellationToken);
        }
    }

    /// <summary>Queues that each member of a group has at least when all are shared out.</summary>
    private static int LeastShare(ConsumerOrder order)
    {
        int topics = order.GroupPerTopic ? 1 : order.Topics.Count;
        int members = order.Consumers / (order.GroupPerTopic ? order.Topics.Count : 1);
        return topics * order.Brokers * (order.Queues / order.Brokers / members);
    }

    private async Task<ExpectResult> ExpectAsync(ExpectOrder order, CancellationToken cancellationToken)
    {
        var quiet = TimeSpan.FromSeconds(order.QuietSeconds);
        long received = -1;
        long lastProgress = TimeProvider.System.GetTimestamp();
        while (received < order.Total && TimeProvider.System.GetElapsedTime(lastProgress) < quiet)
        {
            if (_loops.FirstOrDefault(loop => loop.IsCompleted) is { } ended)
            {
                await ended;
                throw LoadException.Failed("a consumer stopped reading");
            }

            long count = _lanes.Sum(lane => lane.Count);
            if (count != received)
                lastProgress = TimeProvider.System.GetTimestamp();
            received = count;
            if (received < order.Total)
                await Task.Delay(PollInterval, cancellationToken);
        }

        long foundNs = Clock.NowNs;
        var figures = ProcessFigures.TakeWithSockets();
        await Task.Delay(LingerTime, cancellationToken);
        long idleNs = _lanes.Max(lane => lane.LastConsumedNs);
        return new ExpectResult(_lanes.Sum(lane => lane.Count), Math.Min(idleNs, foundNs), figures);
    }

    private async Task<JudgeResult> JudgeAsync(JudgeOrder order)
    {
        await StopAsync();
        CheckResult check = SequenceChecker.Judge([.. _lanes.Select(lane => lane.Checker)], order.Sent);
        return new JudgeResult(check, _endToEnd.ToCounts()) { WindowPerSecond = _lanes[0].WindowPerSecond };
    }

    private async Task StopAsync()
    {
        await _stop.CancelAsync();
        try
        {
            await Task.WhenAll(_loops);
        }
        catch (OperationCanceledException)
        {
            // Reading ends by cancellation and no other way.
        }

        _loops.Clear();
    }
}
