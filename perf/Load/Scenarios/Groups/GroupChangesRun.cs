using EQueue.Load.Measuring;
using EQueue.Load.Roles;
using EQueue.Load.Sending;

namespace EQueue.Load.Scenarios;

/// <summary>
/// A group of which one member after the other joins, leaves and is killed while producers send at an even rate: how
/// long, each time, until every queue has a living owner that has processed a message of it.
/// </summary>
internal sealed class GroupChangesRun(LoadSession session, GroupChangesPlan plan) : IAsyncDisposable
{
    private const string Group = "members";
    private const double SliceSeconds = 2;
    private const int LeastPauseMs = 100;
    private const int MostPauseMs = 300;

    /// <summary>Nothing that is measured here takes so long beyond the session timeout, or it never ends.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(5);

    private static readonly MemberChange[] Cycle =
        [MemberChange.Join, MemberChange.Leave, MemberChange.Join, MemberChange.Kill];

    private readonly RoleProcess _members = session.Start(RoleList.Members);
    private readonly RoleProcess _producer = session.Start(RoleList.Producer);
    private readonly uint _run = (uint)Random.Shared.Next();
    private readonly Random _random = new(session.Options.Seed);
    private readonly CancellationTokenSource _enough = new();
    private RunBroker? _broker;

    public async Task<GroupChanges> RunAsync(Faults faults, CancellationToken cancellationToken)
    {
        RunPlan load = plan.Load;
        _broker = await RunBroker.StartAsync(session, load.Flush, maxConnections: null, cancellationToken);
        string server = _broker.Server;
        string topic = $"load-{_run:x8}";
        await _broker.CreateTopicAsync(topic, load.Queues, maxBacklog: null, cancellationToken);
        await _members.CallAsync(
            "prepare",
            new MembersOrder(
                server, Group, topic, load.Queues, plan.Stay, load.Producers, load.Size, session.Options.Seed, _run,
                load.SlotCount, plan.SessionTimeoutMs, faults),
            cancellationToken);
        var producers = new ProducerOrder(
            server, load.Producers, [topic], load.Size, session.Options.Seed, _run, load.SlotCount, load.Api,
            load.InFlight, load.BatchCount, load.SampleMask)
        {
            KeyedQueues = load.Queues,
        };
        await _producer.CallAsync("prepare", producers, cancellationToken);
        Task<SendResult> sending = SendAsync(cancellationToken);
        IReadOnlyDictionary<MemberChange, LatencyHistogram> times = await ChangeAsync(sending, cancellationToken);
        await _enough.CancelAsync();
        SendResult sent = await sending;
        await WaitUntilCommittedAsync(topic, cancellationToken);
        CheckResult check = await _members.CallAsync<CheckResult>(
            "judge", new Consuming.JudgeOrder(sent.SentInAll), cancellationToken);
        return new GroupChanges(sent.SentInAll.Sum(), times, check);
    }

    public async ValueTask DisposeAsync()
    {
        await _producer.DisposeAsync();
        await _members.DisposeAsync();
        if (_broker is not null)
            await _broker.DisposeAsync();
        _enough.Dispose();
    }

    /// <summary>Sends, a little at a time, until there is enough.</summary>
    private async Task<SendResult> SendAsync(CancellationToken cancellationToken)
    {
        var order = new SendOrder(SliceSeconds, null, plan.Load.Rate);
        while (true)
        {
            SendResult sent = await _producer.CallAsync<SendResult>("send", order, cancellationToken);
            if (_enough.IsCancellationRequested)
                return sent;
        }
    }

    private async Task<IReadOnlyDictionary<MemberChange, LatencyHistogram>> ChangeAsync(
        Task sending, CancellationToken cancellationToken)
    {
        Dictionary<MemberChange, LatencyHistogram> times = Enum.GetValues<MemberChange>().ToDictionary(change => change, _ => new LatencyHistogram());
        Settled owners = await SettleAsync(0, new Dictionary<int, int>(), sending, cancellationToken);
        await Task.Delay(TimeSpan.FromSeconds(plan.Load.Warmup), cancellationToken);
        for (int number = 0; number < plan.Changes; number++)
        {
            await Task.Delay(_random.Next(LeastPauseMs, MostPauseMs), cancellationToken);
            MemberChange change = Cycle[number % Cycle.Length];
            MemberChanged begun = await _members.CallAsync<MemberChanged>("change", change, cancellationToken);
            owners = await SettleAsync(begun.StartNs, owners.Owners, sending, cancellationToken);
            times[change].Record(owners.SettledNs - begun.StartNs);
        }

        return times;
    }

    /// <summary>
    /// Waits until each queue has one owner, each member its share, and each queue that moved was processed by its new
    /// owner.
    /// </summary>
    /// <param name="startNs">When the change began.</param>
    /// <param name="before">Member by queue before the change.</param>
    private async Task<Settled> SettleAsync(
        long startNs, IReadOnlyDictionary<int, int> before, Task sending, CancellationToken cancellationToken)
    {
        long started = TimeProvider.System.GetTimestamp();
        TimeSpan patience = Patience + TimeSpan.FromMilliseconds(plan.SessionTimeoutMs);
        while (true)
        {
            if (sending.IsFaulted)
                await sending;
            MembersState state = await _members.CallAsync<MembersState>("state", null, cancellationToken);
            if (IsShared(state, plan.Load.Queues))
            {
                HeldQueue[] moved = state.Queues
                    .Where(queue => before.GetValueOrDefault(queue.Queue, -1) != queue.Member)
                    .ToArray();
                if (moved.All(queue => queue.GivenNs > startNs && queue.ConsumedNs > 0))
                {
                    return new Settled(
                        moved.Length == 0 ? Clock.NowNs : moved.Max(queue => queue.ConsumedNs),
                        state.Queues.ToDictionary(queue => queue.Queue, queue => queue.Member));
                }
            }

            if (TimeProvider.System.GetElapsedTime(started) > patience)
                throw LoadException.Failed($"the group has not settled after {patience.TotalSeconds} s: {state}");
            await Task.Delay(PollInterval, cancellationToken);
        }
    }

    private static bool IsShared(MembersState state, int queues)
    {
        var shares = state.Queues.CountBy(queue => queue.Member).ToDictionary();
        return state.Queues.Count == queues
            && state.Queues.Select(queue => queue.Queue).Distinct().Count() == queues
            && shares.Count == state.Members
            && shares.Values.Max() - shares.Values.Min() <= 1;
    }

    /// <summary>Waits until the group has committed everything, as long as it comes nearer.</summary>
    private async Task WaitUntilCommittedAsync(string topic, CancellationToken cancellationToken)
    {
        long lastProgress = TimeProvider.System.GetTimestamp();
        long least = long.MaxValue;
        while (least > 0 && TimeProvider.System.GetElapsedTime(lastProgress) < Patience)
        {
            GroupDescription described = await _broker!.Client.Admin.DescribeGroupAsync(Group, topic, withAges: false, cancellationToken);
            long lag = described.Queues.Sum(queue => queue.Lag);
            if (lag < least)
            {
                least = lag;
                lastProgress = TimeProvider.System.GetTimestamp();
            }

            await Task.Delay(PollInterval, cancellationToken);
        }
    }

    private sealed record Settled(long SettledNs, IReadOnlyDictionary<int, int> Owners);
}

/// <summary>What the runs have in common.</summary>
/// <param name="Load">Who sends what, and the queues.</param>
/// <param name="Stay">Members that are there all the time; one more comes and goes.</param>
/// <param name="Changes">Of a run.</param>
internal sealed record GroupChangesPlan(RunPlan Load, int Stay, int Changes, int SessionTimeoutMs);

/// <summary>What came out.</summary>
/// <param name="Messages">That were sent.</param>
/// <param name="Times">From each change until the group had settled.</param>
internal sealed record GroupChanges(
    long Messages, IReadOnlyDictionary<MemberChange, LatencyHistogram> Times, CheckResult Check);
