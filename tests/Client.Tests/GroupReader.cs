using System.Collections.Concurrent;

namespace EQueue.Client.Tests;

/// <summary>A member of a group in a loop of its own, with a client of its own, as a process would be.</summary>
internal sealed class GroupReader : IAsyncDisposable
{
    private readonly EQueueClient _client;
    private readonly CancellationTokenSource _stop = new();
    private int _isDisposed;

    public GroupReader(
        string address, string topic, ConsumerOptions? options = null, string group = "g", bool mayCreate = true)
    {
        options ??= new ConsumerOptions();
        _client = new EQueueClient(new ClientOptions
        {
            Addresses = address,
            ReconnectBackoffMax = TimeSpan.FromMilliseconds(100),
        });
        Consumer = _client.CreateConsumer(group, [topic], options with
        {
            AutoCreateTopics = mayCreate,
            Assigned = (queues, _) =>
            {
                foreach (QueueProgress queue in queues)
                    Moves.Enqueue("+" + queue.Queue);
                return ValueTask.CompletedTask;
            },
            Revoking = (queues, _) =>
            {
                foreach (QueueProgress queue in queues)
                    Moves.Enqueue("-" + queue.Queue);
                return ValueTask.CompletedTask;
            },
        });
        Reading = Task.Run(ReadAsync);
    }

    public Consumer Consumer { get; }

    /// <summary>Completes when the loop does, with its failure if it had one.</summary>
    public Task Reading { get; }

    /// <summary>Queues given and taken: "+0", "-0".</summary>
    public ConcurrentQueue<string> Moves { get; } = new();

    /// <summary>What was read: queue, offset, value.</summary>
    public ConcurrentQueue<(int Queue, long Offset, int Value)> Read { get; } = new();

    public int[] Queues => [.. Consumer.GetProgress().Select(static queue => queue.Queue).Order()];

    public IEnumerable<int> Values => Read.Select(static one => one.Value);

    /// <summary>Ends the loop and leaves in order.</summary>
    public async ValueTask DisposeAsync()
    {
        if (Interlocked.Exchange(ref _isDisposed, 1) != 0)
            return;
        await _stop.CancelAsync();
        await Task.WhenAny(Reading);
        await _client.DisposeAsync();
        _stop.Dispose();
    }

    private async Task ReadAsync()
    {
        try
        {
            await foreach (ReceivedMessage message in Consumer.ReadAllAsync(_stop.Token))
                Read.Enqueue((message.Queue, message.Offset.Value, BitConverter.ToInt32(message.Body.Span)));
        }
        catch (OperationCanceledException)
        {
            // Stopped.
        }
    }
}
