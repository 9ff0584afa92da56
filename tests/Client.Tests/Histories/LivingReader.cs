using System.Collections.Concurrent;
using EQueue.Support;

namespace EQueue.Client.Tests.Histories;

/// <summary>A reader in a loop of its own, with a client of its own, that lives while the broker is put back: a
/// group's member, or a reader of named queues that commits for a group without members.</summary>
internal sealed class LivingReader : IAsyncDisposable
{
    public const string Group = "g";

    private readonly EQueueClient _client;
    private readonly Consumer? _consumer;
    private readonly QueueReader? _reader;
    private readonly CancellationTokenSource _stop = new();

    private LivingReader(string address, bool isMember, ConsumerOptions options)
    {
        _client = new EQueueClient(new ClientOptions
        {
            Addresses = address,
            ReconnectBackoffMax = TimeSpan.FromMilliseconds(50),
            LoggerFactory = Log,
        });
        if (isMember)
            _consumer = _client.CreateConsumer(Group, [ForkingBroker.Topic], options);
        else
            _reader = _client.CreateReader(options);
    }

    /// <summary>What the client logged.</summary>
    public CollectedLog Log { get; } = new();

    /// <summary>What was handed out, in its order.</summary>
    public ConcurrentQueue<(int Queue, long Offset, int Value)> Read { get; } = new();

    /// <summary>Completes when the loop does, with its failure if it had one.</summary>
    public Task Reading { get; private set; } = Task.CompletedTask;

    public IReadOnlyList<QueueProgress> Progress => _consumer?.GetProgress() ?? _reader!.GetProgress();

    public static async Task<LivingReader> StartAsync(
        string address, bool isMember, ConsumerOptions? options = null)
    {
        var reader = new LivingReader(address, isMember, (options ?? new ConsumerOptions()) with
        {
            AutoCommitInterval = TimeSpan.FromMilliseconds(20),
        });
        if (reader._reader is { } named)
        {
            await named.AssignAllAsync(
                ForkingBroker.Topic, StartPosition.Begin, TestContext.Current.CancellationToken);
        }

        reader.Go();
        return reader;
    }

    /// <summary>Begins another loop.</summary>
    public void Go() => Reading = Task.Run(ReadAsync);

    /// <summary>Commits what is processed: a member does so by itself.</summary>
    public ValueTask CommitAsync() => _reader is { } reader
        ? reader.CommitAsync(Group, TestContext.Current.CancellationToken)
        : ValueTask.CompletedTask;

    public ValueTask SeekAsync(int queue, long offset) => _consumer is { } consumer
        ? consumer.SeekAsync(ForkingBroker.Topic, queue, StartPosition.AtOffset(offset))
        : _reader!.SeekAsync(ForkingBroker.Topic, queue, StartPosition.AtOffset(offset));

    public async Task HasReadAsync(int value) => await Eventually.TrueAsync(
        () => Reading.IsFaulted || Read.Any(one => one.Value == value), $"message {value} was read");

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await Task.WhenAny(Reading);
        await _client.DisposeAsync();
        _stop.Dispose();
    }

    private async Task ReadAsync()
    {
        IAsyncEnumerable<ReceivedMessage> messages =
            _consumer?.ReadAllAsync(_stop.Token) ?? _reader!.ReadAllAsync(_stop.Token);
        try
        {
            await foreach (ReceivedMessage message in messages)
                Read.Enqueue((message.Queue, message.Offset.Value, BitConverter.ToInt32(message.Body.Span)));
        }
        catch (OperationCanceledException) when (_stop.IsCancellationRequested)
        {
            // Stopped.
        }
        catch (EQueueException exception) when (exception.Code is ErrorCode.Cancelled && _stop.IsCancellationRequested)
        {
            // Stopped while it joined.
        }
    }
}
