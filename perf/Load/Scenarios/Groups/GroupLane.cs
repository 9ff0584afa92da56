using EQueue.Load.Consuming;
using EQueue.Load.Measuring;

namespace EQueue.Load.Scenarios;

/// <summary>
/// One member of a group: a client of its own over a relay of its own, its checker, and when it was given what.
/// </summary>
internal sealed class GroupLane : IAsyncDisposable
{
    /// <summary>A member whose connections are cut need not be waited for.</summary>
    private static readonly TimeSpan RequestTimeout = TimeSpan.FromSeconds(5);

    private readonly CancellationTokenSource _stop = new();
    private readonly CutRelay _relay;
    private readonly EQueueClient _client;
    private readonly Consumer _member;
    private readonly FaultInjector? _defect;
    private readonly long[] _givenNs;
    private readonly long[] _consumedNs;
    private Task _loop = Task.CompletedTask;
    private Task _disposal = Task.CompletedTask;
    private long _count;

    public GroupLane(MembersOrder order, int number)
    {
        Number = number;
        _givenNs = new long[order.Queues];
        _consumedNs = new long[order.Queues];
        Checker = new SequenceChecker(
            new BodyComparer(order.Seed, order.Size, order.SlotCount), order.Producers, order.Queues, order.Size,
            order.Run);
        if (order.Faults != Faults.None && number == 0)
            _defect = new FaultInjector(order.Faults, Checker.Observe);
        _relay = new CutRelay(order.Server);
        _client = new EQueueClient(LoadClient.OptionsFor(_relay.Address) with { RequestTimeout = RequestTimeout });
        _member = _client.CreateConsumer(order.Group, [order.Topic], new ConsumerOptions
        {
            SessionTimeout = TimeSpan.FromMilliseconds(order.SessionTimeoutMs),
            Assigned = (queues, _) => NoteGiven(queues),
        });
    }

    public int Number { get; }

    public SequenceChecker Checker { get; }

    /// <summary>Messages processed. Any thread may read it.</summary>
    public long Count => Volatile.Read(ref _count);

    /// <summary>Begins to join and to read.</summary>
    public void Start() => _loop = Task.Run(ReadAsync);

    /// <summary>The queues that it has now.</summary>
    /// <exception cref="EQueueException">Its reading has ended by itself.</exception>
    public IEnumerable<HeldQueue> Held()
    {
        if (_loop.IsFaulted)
            _loop.GetAwaiter().GetResult();
        return _member.GetProgress()
            .Select(queue => queue.Queue)
            .Where(queue => Volatile.Read(ref _givenNs[queue]) > 0)
            .Select(queue => new HeldQueue(
                queue, Number, Volatile.Read(ref _givenNs[queue]), Volatile.Read(ref _consumedNs[queue])));
    }

    /// <summary>Stops reading, commits what is processed, and leaves.</summary>
    public async Task LeaveAsync()
    {
        await StopAsync();
        await _member.DisposeAsync();
        _disposal = DisconnectAsync();
    }

    /// <summary>Cuts its connections and stops it: nothing more is committed, and the broker is not told.</summary>
    public async Task KillAsync()
    {
        _relay.Cut();
        await StopAsync();
        _disposal = DisconnectAsync();
    }

    /// <summary>Ends it, and waits for what has not ended yet.</summary>
    public async ValueTask DisposeAsync()
    {
        await StopAsync();
        await _disposal;
        await DisconnectAsync();
        _stop.Dispose();
    }

    private async Task DisconnectAsync()
    {
        await _client.DisposeAsync();
        await _relay.DisposeAsync();
    }

    private async Task StopAsync()
    {
        await _stop.CancelAsync();
        try
        {
            await _loop;
        }
        catch (OperationCanceledException)
        {
            // Reading ends by cancellation.
        }
    }

    private async Task ReadAsync()
    {
        await foreach (ReceivedMessage message in _member.ReadAllAsync(_stop.Token))
        {
            if (_defect is null)
                Checker.Observe(message.Queue, message.Body.Span);
            else
                _defect.Observe(message.Queue, message.Body.Span);
            if (_consumedNs[message.Queue] == 0)
                Volatile.Write(ref _consumedNs[message.Queue], Clock.NowNs);
            Volatile.Write(ref _count, _count + 1);
        }
    }

    private ValueTask NoteGiven(IReadOnlyList<QueueProgress> queues)
    {
        foreach (QueueProgress queue in queues)
        {
            Volatile.Write(ref _consumedNs[queue.Queue], 0);
            Volatile.Write(ref _givenNs[queue.Queue], Clock.NowNs);
        }

        return ValueTask.CompletedTask;
    }
}
