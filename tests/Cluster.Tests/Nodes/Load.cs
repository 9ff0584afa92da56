using System.Buffers.Binary;
using EQueue.Client;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>Sends numbered messages to one queue without end, and reads them back: what was acknowledged must be
/// there once, in order.</summary>
internal sealed class Load : IAsyncDisposable
{
    private const string Topic = "load";

    private readonly TestCluster _cluster;
    private readonly EQueueClient _client;
    private readonly Producer _producer;
    private readonly CancellationTokenSource _stopping = new();
    private readonly Task _sending;
    private long _acknowledged;

    public Load(TestCluster cluster)
    {
        _cluster = cluster;
        _client = cluster.Connect();
        _producer = _client.CreateProducer();
        _sending = Task.Run(SendAsync);
    }

    public long Acknowledged => Volatile.Read(ref _acknowledged);

    public Task StoredAsync(long count) =>
        Eventually.TrueAsync(() => _sending.IsFaulted ? throw _sending.Exception! : Acknowledged >= count);

    public Task MoreAsync(long count) => StoredAsync(Acknowledged + count);

    /// <summary>Ends the sending, and compares what is stored.</summary>
    public async Task CheckAsync()
    {
        await _stopping.CancelAsync();
        await _sending;
        await using QueueReader reader = _client.CreateReader();
        await reader.AssignAsync(Topic, 0, StartPosition.Begin);
        long next = 0;
        await foreach (ReceivedMessage message in reader.ReadAllAsync(TestContext.Current.CancellationToken))
        {
            Assert.Equal(next, BinaryPrimitives.ReadInt64LittleEndian(message.Body.Span));
            if (++next == Acknowledged) break;
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _stopping.CancelAsync();
        await ((Task)_sending).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await _producer.DisposeAsync();
        await _client.DisposeAsync();
        _stopping.Dispose();
    }

    private async Task SendAsync()
    {
        await _client.Admin.CreateTopicAsync(Topic, TopicSettings.None with { QueueCount = 1 });
        byte[] body = new byte[16];
        while (!_stopping.IsCancellationRequested)
        {
            BinaryPrimitives.WriteInt64LittleEndian(body, _acknowledged);
            await _producer.SendAsync(Topic, body);
            Volatile.Write(ref _acknowledged, _acknowledged + 1);
        }
    }
}
