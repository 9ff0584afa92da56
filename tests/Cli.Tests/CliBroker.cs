using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Support;
using EQueue.Support.Stores;

namespace EQueue.Cli.Tests;

/// <summary>A real broker within this process, which can stop and start again at its address, and a client of it.</summary>
internal sealed class CliBroker : IAsyncDisposable
{
    private readonly TempDirectory _directory = new();
    private EQueueBroker? _broker;

    private CliBroker()
    {
    }

    public string Address { get; private set; } = "127.0.0.1:0";

    public string DataDirectory => _directory["data"];

    public EQueueClient Client { get; private set; } = null!;

    public static async Task<CliBroker> StartAsync()
    {
        var broker = new CliBroker();
        await broker.RestartAsync();
        broker.Client = new EQueueClient(broker.Address);
        return broker;
    }

    public async Task StopAsync()
    {
        await _broker!.DisposeAsync();
        _broker = null;
    }

    /// <summary>Stores batches that the broker would refuse in a queue of a topic, while it is stopped.</summary>
    public async Task StoreBelowAsync(string topic, int queue, params byte[][] batches)
    {
        QueueId id = (await Client.Admin.DescribeTopicAsync(topic)).Queues[queue].Id;
        await StopAsync();
        await BelowTheBroker.AppendAsync(
            Store, batches.Select(batch => (id, TagBits.Unknown, batch)), TestContext.Current.CancellationToken);
        await RestartAsync();
    }

    private StoreOptions Store => new()
    {
        DataDirectory = _directory["data"],
        FlushPolicy = FlushPolicy.Async,
        SegmentSizeBytes = 16 << 20,
    };

    public async Task RestartAsync()
    {
        var options = new BrokerOptions { Listen = Address, DataDirectory = _directory["data"], Store = Store };
        _broker = await Eventually.StartedAsync(() => EQueueBroker.StartAsync(options));
        Address = $"{_broker.EndPoint}";
    }

    public async ValueTask DisposeAsync()
    {
        await Client.DisposeAsync();
        if (_broker is not null)
            await _broker.DisposeAsync();
        _directory.Dispose();
    }
}
