using System.Buffers.Binary;
using EQueue.Support;

namespace EQueue.Cluster.Tests;

/// <summary>Sends numbered messages to one queue without end, and reads them back: what was acknowledged must be
/// there once, in order.</summary>
internal sealed class Load : IAsyncDisposable
{
    private const string Topic = "load";

    private readonly TestCluster _cluster;
    private readonly int _bodyBytes;
    private readonly EQueueClient _client;
    private readonly Producer _producer;
    private readonly CancellationTokenSource _stopping = new();
    private readonly Task _sending;
    private long _acknowledged;

    public Load(TestCluster cluster, int bodyBytes = 16)
    {
        _bodyBytes = bodyBytes;
        _cluster = cluster;
        _client = cluster.Connect();
        _producer = _client.CreateProducer();
        _sending = Task.Run(SendAsync);
    }

    public long Acknowledged => Volatile.Read(ref _acknowledged);

    public Task StoredAsync(long count) =>
        Eventually.TrueAsync(() => _sending.IsFaulted ? throw _sending.Exception! : Acknowledged >= count);

    public Task MoreAsync(long count) => StoredAsync(Acknowledged + count);

    /// <summary>Ends the sending.</summary>
    public async Task StopAsync()
    {
        await _stopping.CancelAsync();
        await _sending;
    }

    /// <summary>Ends the sending, and compares what is stored.</summary>
    public async Task CheckAsync()
    {
        await StopAsync();
        Assert.Equal(Acknowledged, await CountAsync(_client));
    }

    /// <summary>Reads everything: the messages are there from the first on, once each and in order.</summary>
    /// <returns>How many.</returns>
    public static async Task<long> CountAsync(EQueueClient client)
    {
        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAsync(Topic, 0, StartPosition.Begin);
        long next = 0;
        await foreach (ReceivedMessage message in reader.ReadAllAsync(TestContext.Current.CancellationToken))
            Assert.Equal(next++, BinaryPrimitives.ReadInt64LittleEndian(message.Body.Span));
        return next;
    }

    public async ValueTask DisposeAsync()
    {
        await _stopping.CancelAsync();
        await _producer.DisposeAsync();
        await ((Task)_sending).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await _client.DisposeAsync();
        _stopping.Dispose();
    }

    private async Task SendAsync()
    {
        await _client.Admin.CreateTopicAsync(Topic, TopicSettings.None with { QueueCount = 1 });
        byte[] body = new byte[_bodyBytes];
        while (!_stopping.IsCancellationRequested)
        {
            BinaryPrimitives.WriteInt64LittleEndian(body, _acknowledged);
            await _producer.SendAsync(Topic, body);
            Volatile.Write(ref _acknowledged, _acknowledged + 1);
        }
    }
}
