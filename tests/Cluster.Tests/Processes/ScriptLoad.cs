using System.Buffers.Binary;
using System.Collections.Concurrent;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>Producers with ids, each with a topic of its own, a group and a reader, through whatever happens to the
/// cluster; at the end everything is read back and compared.</summary>
internal sealed class ScriptLoad : IAsyncDisposable
{
    private const int Producers = 4;

    private readonly EQueueClient _client;
    private readonly List<Producer> _producers = [];
    private readonly CancellationTokenSource _stopping = new();
    private readonly CancellationTokenSource _reading = new();
    private readonly long[] _acknowledged = new long[Producers];
    private readonly long[] _begun = new long[Producers];
    private readonly ConcurrentDictionary<(string Topic, long Offset), long> _seen = new();
    private readonly ConcurrentQueue<string> _violations = new();
    private readonly Task[] _tasks;
    private long _consumed;
    private long _longestMs;

    public ScriptLoad(EQueueClient client)
    {
        _client = client;
        _tasks = [.. Enumerable.Range(0, Producers).Select(i => Task.Run(() => SendAsync(i))),
            Task.Run(ConsumeAsync), Task.Run(ReadAsync)];
    }

    public long Acknowledged => _acknowledged.Sum();

    public long Consumed => Volatile.Read(ref _consumed);

    /// <summary>The longest time between two acknowledgements of one producer.</summary>
    public long LongestMs => Volatile.Read(ref _longestMs);

    /// <summary>Waits until more is acknowledged to every producer.</summary>
    public async Task MoreAsync(long count)
    {
        long[] before = [.. _acknowledged];
        await Eventually.TrueAsync(() =>
        {
            if (_tasks.FirstOrDefault(task => task.IsFaulted) is { } failed)
                throw failed.Exception!.InnerException!;
            return before.Select((was, i) => Volatile.Read(ref _acknowledged[i]) - was).All(more => more >= count);
        });
    }

    /// <summary>Ends the sending, and compares: what was acknowledged is there once, in order.</summary>
    public async Task CheckAsync()
    {
        await _stopping.CancelAsync();
        await Task.WhenAll(_tasks[..Producers]);
        for (int i = 0; i < Producers; i++)
            await CheckAsync(i);
        await Eventually.TrueAsync(() =>
        {
            if (_tasks.FirstOrDefault(task => task.IsFaulted) is { } failed)
                throw failed.Exception!.InnerException!;
            return _seen.Count >= Acknowledged && Consumed >= Acknowledged;
        });
        await _reading.CancelAsync();
        await Task.WhenAll(_tasks);
        Assert.Empty(_violations);
    }

    public async ValueTask DisposeAsync()
    {
        await _stopping.CancelAsync();
        await _reading.CancelAsync();
        await Task.WhenAll(_tasks).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        foreach (Producer producer in _producers)
            await producer.DisposeAsync();
        await _client.DisposeAsync();
        _stopping.Dispose();
        _reading.Dispose();
    }

    private static string TopicOf(int producer) => $"script-{producer}";

    private async Task SendAsync(int number)
    {
        string topic = TopicOf(number);
        await _client.Admin.CreateTopicAsync(topic, TopicSettings.None with { QueueCount = 1 });
        Producer producer = _client.CreateProducer();
        lock (_producers)
            _producers.Add(producer);
        long last = Environment.TickCount64;
        byte[] body = new byte[128];
        var waiting = new Queue<Task>();
        while (!_stopping.IsCancellationRequested || waiting.Count > 0)
        {
            while (!_stopping.IsCancellationRequested && waiting.Count < 16)
            {
                BinaryPrimitives.WriteInt64LittleEndian(body, _begun[number]++);
                waiting.Enqueue(producer.SendAsync(topic, (ReadOnlySpan<byte>)body).AsTask());
            }

            await waiting.Dequeue();
            Volatile.Write(ref _acknowledged[number], _acknowledged[number] + 1);
            long now = Environment.TickCount64;
            if (now - last > _longestMs)
                Volatile.Write(ref _longestMs, now - last);
            last = now;
        }
    }

    /// <summary>A group: each message at least once; one that comes again is the same.</summary>
    private async Task ConsumeAsync()
    {
        await using Consumer consumer = _client.CreateConsumer(
            "script", [.. Enumerable.Range(0, Producers).Select(TopicOf)]);
        try
        {
            await foreach (ReceivedMessage message in consumer.ReadAllAsync(_reading.Token))
            {
                See(message);
                Volatile.Write(ref _consumed, _consumed + 1);
            }
        }
        catch (OperationCanceledException) when (_reading.IsCancellationRequested)
        {
            // Told to end.
        }
    }

    /// <summary>A reader that must never jump.</summary>
    private async Task ReadAsync()
    {
        var next = new Dictionary<string, long>();
        await using QueueReader reader = _client.CreateReader(
            new ReaderOptions { WhenOutOfRange = OutOfRangePolicy.Throw });
        for (int i = 0; i < Producers; i++)
        {
            string topic = TopicOf(i);
            await Eventually.TrueAsync(() => Volatile.Read(ref _acknowledged[i]) > 0);
            await reader.AssignAsync(topic, 0, StartPosition.Begin);
            next[topic] = 0;
        }

        try
        {
            await foreach (ReceivedMessage message in reader.ReadAllAsync(_reading.Token))
            {
                long expected = next[message.Topic]++;
                if (See(message) != expected || message.Offset.Value != expected)
                    _violations.Enqueue($"{message.Topic} at {message.Offset}: expected {expected}");
            }
        }
        catch (OperationCanceledException) when (_reading.IsCancellationRequested)
        {
            // Told to end.
        }
    }

    private long See(ReceivedMessage message)
    {
        long value = BinaryPrimitives.ReadInt64LittleEndian(message.Body.Span);
        if (_seen.GetOrAdd((message.Topic, message.Offset.Value), value) is var known && known != value)
            _violations.Enqueue($"{message.Topic} at {message.Offset} is {value}, and was {known}");
        return value;
    }

    private async Task CheckAsync(int number)
    {
        await using QueueReader reader = _client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAsync(TopicOf(number), 0, StartPosition.Begin);
        long next = 0;
        await foreach (ReceivedMessage message in reader.ReadAllAsync(TestContext.Current.CancellationToken))
        {
            long value = BinaryPrimitives.ReadInt64LittleEndian(message.Body.Span);
            Assert.True(value == next, $"{TopicOf(number)} at {message.Offset}: {value} instead of {next}");
            next++;
        }

        Assert.True(next >= _acknowledged[number], $"{TopicOf(number)}: {_acknowledged[number]} acknowledged, {next} there");
    }
}
