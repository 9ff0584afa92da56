using EQueue.Load.Consuming;
using EQueue.Load.Limit;
using EQueue.Load.Measuring;

namespace EQueue.Load.Scenarios;

/// <summary>One consumer that reads all queues from the beginning to the ends they had, again and again.</summary>
internal sealed class ReplayLane : IAsyncDisposable
{
    private readonly ReplayOrder _order;
    private readonly Faults _faults;
    private readonly EQueueClient _client;
    private readonly Dictionary<string, int> _topics;
    private QueueReader? _reader;
    private long _count;

    public ReplayLane(ReplayOrder order, int number)
    {
        _order = order;
        _faults = number == 0 ? order.Faults : Faults.None;
        _client = LoadClient.To(order.Server);
        _topics = order.Topics.Index().ToDictionary(topic => topic.Item, topic => topic.Index, StringComparer.Ordinal);
        First = NewChecker();
    }

    /// <summary>Has judged the first time through, which is always whole.</summary>
    public SequenceChecker First { get; }

    /// <summary>Wrong messages of later times, which may have been broken off: none can be missing.</summary>
    public CheckResult Later { get; private set; } = new(0, 0, 0, 0);

    /// <summary>Messages read, all times together.</summary>
    public long Count => Volatile.Read(ref _count);

    /// <summary>Finds the ends up to which the next time through goes.</summary>
    public async Task AssignAsync(CancellationToken cancellationToken)
    {
        _reader = _client.CreateReader(new ReaderOptions { StopAtEnd = true });
        foreach (string topic in _order.Topics)
            await _reader.AssignAllAsync(topic, StartPosition.Begin, cancellationToken);
    }

    /// <summary>Reads to the ends once, then on from the beginning until told to stop.</summary>
    public async Task RunAsync(CancellationToken stop)
    {
        await ReadAsync(First, _faults, CancellationToken.None);
        while (!stop.IsCancellationRequested)
        {
            PageCache.LetGo(_order.Directory);
            await ReadAgainAsync(stop);
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (_reader is not null)
            await _reader.DisposeAsync();
        await _client.DisposeAsync();
    }

    private async Task ReadAgainAsync(CancellationToken stop)
    {
        SequenceChecker checker = NewChecker();
        try
        {
            await AssignAsync(stop);
            await ReadAsync(checker, Faults.None, stop);
        }
        catch (OperationCanceledException) when (stop.IsCancellationRequested)
        {
            // Broken off in the middle: reading ends so, and asking for the ends.
        }

        Later = new CheckResult(
            0,
            Later.Duplicated + checker.Duplicated,
            Later.Reordered + checker.Reordered,
            Later.Damaged + checker.Damaged);
    }

    private SequenceChecker NewChecker() => new(
        new BodyComparer(_order.Seed, _order.Size, _order.SlotCount),
        _order.Producers,
        _order.Topics.Count * _order.Queues,
        _order.Size,
        _order.Run);

    private async Task ReadAsync(SequenceChecker checker, Faults faults, CancellationToken cancellationToken)
    {
        Observer observe = faults == Faults.None ? checker.Observe : new FaultInjector(faults, checker.Observe).Observe;
        await using QueueReader reader = _reader!;
        await foreach (ReceivedBatch batch in reader.ReadBatchesAsync(cancellationToken))
        {
            int queue = (_topics[batch.Topic] * _order.Queues) + batch.Queue;
            int count = 0;
            foreach (RecordView record in batch)
            {
                observe(queue, record.Body);
                count++;
            }

            Volatile.Write(ref _count, _count + count);
        }
    }
}
