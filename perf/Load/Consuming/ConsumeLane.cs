using EQueue.Load.Measuring;

namespace EQueue.Load.Consuming;

/// <summary>One consumer with a connection of its own, and its checker.</summary>
internal sealed class ConsumeLane : IAsyncDisposable
{
    private readonly ConsumerOrder _order;
    private readonly EQueueClient _client;
    private readonly Consumer? _member;
    private readonly QueueReader? _reader;
    private readonly LatencyHistogram _endToEnd;
    private readonly FaultInjector? _defect;
    private readonly WindowRates? _arrivals;
    private string _lastTopic = string.Empty;
    private int _lastTopicIndex;
    private long _count;
    private long _firstNs;
    private long _lastConsumedNs;

    private ConsumeLane(ConsumerOrder order, LatencyHistogram endToEnd, int number)
    {
        _order = order;
        _endToEnd = endToEnd;
        _client = LoadClient.To(order.Server);
        Checker = new SequenceChecker(
            new BodyComparer(order.Seed, order.Size, order.SlotCount),
            order.Producers,
            order.Topics.Count * order.Queues,
            order.Size,
            order.Run);
        if (order.Faults != Faults.None && number == 0)
            _defect = new FaultInjector(order.Faults, Checker.Observe);
        _arrivals = order.InWindows && number == 0 ? new WindowRates() : null;
        if (!order.InGroup)
            _reader = _client.CreateReader();
        else if (order.GroupPerTopic)
            _member = _client.CreateConsumer($"{order.Group}-{TopicOf(number)}", [order.Topics[TopicOf(number)]]);
        else
            _member = _client.CreateConsumer(order.Group, order.Topics);

        int TopicOf(int member) => member % order.Topics.Count;
    }

    public SequenceChecker Checker { get; }

    /// <summary>The median rate over windows of messages; null when it was not asked for. Read it at the end.</summary>
    public double? WindowPerSecond => _arrivals?.MedianPerSecond();

    /// <summary>Messages looked at so far. Any thread may read it.</summary>
    public long Count => Volatile.Read(ref _count);

    /// <summary>When the consumer last ran out of messages. Any thread may read it.</summary>
    public long LastConsumedNs => Volatile.Read(ref _lastConsumedNs);

    /// <summary>Queues that it has now. Any thread may read it.</summary>
    public int QueueCount => (_member?.GetProgress() ?? _reader!.GetProgress()).Count;

    /// <summary>Connects and learns its queues and positions; what is sent from now on will be read.</summary>
    public static async Task<ConsumeLane> StartAsync(
        ConsumerOrder order, int number, LatencyHistogram endToEnd, CancellationToken cancellationToken)
    {
        var lane = new ConsumeLane(order, endToEnd, number);
        if (lane._member is { } member)
        {
            await member.JoinAsync(cancellationToken);
            return lane;
        }

        for (int index = number; index < order.Topics.Count * order.Queues; index += order.Consumers)
        {
            string topic = order.Topics[index / order.Queues];
            await lane._reader!.AssignAsync(topic, index % order.Queues, StartPosition.Begin, cancellationToken);
        }

        return lane;
    }

    /// <summary>Reads until cancelled.</summary>
    public Task RunAsync(CancellationToken cancellationToken) => _order.Batches
        ? ReadBatchesAsync(_member?.ReadBatchesAsync(cancellationToken) ?? _reader!.ReadBatchesAsync(cancellationToken))
        : ReadMessagesAsync(_member?.ReadAllAsync(cancellationToken) ?? _reader!.ReadAllAsync(cancellationToken));

    /// <summary>What comes from now on counts. Nothing comes meanwhile.</summary>
    public void Begin() => _arrivals?.Clear();

    public async ValueTask DisposeAsync()
    {
        if (_member is not null)
            await _member.DisposeAsync();
        if (_reader is not null)
            await _reader.DisposeAsync();
        await _client.DisposeAsync();
    }

    private async Task ReadMessagesAsync(IAsyncEnumerable<ReceivedMessage> source)
    {
        await using IAsyncEnumerator<ReceivedMessage> messages = source.GetAsyncEnumerator(CancellationToken.None);
        while (true)
        {
            ValueTask<bool> next = messages.MoveNextAsync();
            if (!next.IsCompleted)
                MarkIdle();
            if (!await next)
                return;
            ReceivedMessage message = messages.Current;
            Observe(QueueIndex(message.Topic, message.Queue), message.Body.Span);
            if (_order.Rate is { } rate)
                await SlowDownAsync(rate);
        }
    }

    private async Task ReadBatchesAsync(IAsyncEnumerable<ReceivedBatch> source)
    {
        await using IAsyncEnumerator<ReceivedBatch> batches = source.GetAsyncEnumerator(CancellationToken.None);
        while (true)
        {
            ValueTask<bool> next = batches.MoveNextAsync();
            if (!next.IsCompleted)
                MarkIdle();
            if (!await next)
                return;
            ReceivedBatch batch = batches.Current;
            int queue = QueueIndex(batch.Topic, batch.Queue);
            foreach (RecordView record in batch)
                Observe(queue, record.Body);
        }
    }

    /// <summary>Waits, a millisecond or more at a time, until the next message may be taken.</summary>
    private async ValueTask SlowDownAsync(int rate)
    {
        if (_firstNs == 0)
            _firstNs = Clock.NowNs;
        TimeSpan early = TimeSpan.FromSeconds(_count / (double)rate) - TimeSpan.FromMicroseconds((Clock.NowNs - _firstNs) / 1e3);
        if (early >= TimeSpan.FromMilliseconds(1))
            await Task.Delay(early);
    }

    private void MarkIdle() => Volatile.Write(ref _lastConsumedNs, Clock.NowNs);

    private void Observe(int queue, ReadOnlySpan<byte> body)
    {
        bool isSampled = _defect is null ? Checker.Observe(queue, body) : _defect.Observe(queue, body);
        if (isSampled || _order.TimeAll)
        {
            long sentNs = BodyStamp.ReadTimestamp(body);
            if (sentNs != 0)
                _endToEnd.Record(Clock.NowNs - sentNs);
        }

        _arrivals?.Record(Clock.NowNs);
        Volatile.Write(ref _count, _count + 1);
    }

    private int QueueIndex(string topic, int queue)
    {
        if (!ReferenceEquals(topic, _lastTopic))
        {
            _lastTopic = topic;
            _lastTopicIndex = 0;
            while (_order.Topics[_lastTopicIndex] != topic)
                _lastTopicIndex++;
        }

        return (_lastTopicIndex * _order.Queues) + queue;
    }
}
