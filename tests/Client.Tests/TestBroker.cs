using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;
using EQueue.Support.Stores;

namespace EQueue.Client.Tests;

/// <summary>A real broker on a free port with a directory of its own, and a client of it.</summary>
internal sealed class TestBroker : IAsyncDisposable
{
    private readonly TempDirectory _directory;
    private readonly BrokerOptions _options;
    private EQueueBroker? _broker;

    private TestBroker(TempDirectory directory, BrokerOptions options)
    {
        _directory = directory;
        _options = options;
    }

    public string Address { get; private set; } = "";

    public string DataDirectory => _options.DataDirectory;

    public EQueueClient Client { get; private set; } = null!;

    public static async Task<TestBroker> StartAsync(
        FlushPolicy flush = FlushPolicy.Async,
        int queues = 4,
        string listen = "127.0.0.1:0",
        InMemoryEndPoint? inMemory = null,
        ServerTlsOptions? tls = null,
        TlsOptions? clientTls = null,
        SecurityOptions? security = null)
    {
        var directory = new TempDirectory();
        var options = new BrokerOptions
        {
            Listen = inMemory is null ? listen : "",
            InMemory = inMemory,
            Tls = tls,
            DataDirectory = directory["data"],
            Store = new StoreOptions
            {
                DataDirectory = directory["data"],
                FlushPolicy = flush,
                SegmentSizeBytes = 32 * 1024 * 1024,
                ReserveBytes = 16 * 1024 * 1024,
            },
            Topics = new TopicOptions { QueueCount = queues },
            Security = security ?? new SecurityOptions(),
        };
        var broker = new TestBroker(directory, options);
        await broker.StartBrokerAsync();
        broker.Client = new EQueueClient(new ClientOptions
        {
            Addresses = inMemory is null ? broker.Address : "nowhere.invalid",
            InMemory = inMemory,
            Tls = clientTls,
        });
        return broker;
    }

    /// <summary>Stops the broker, stores batches that it would refuse, and starts it again.</summary>
    /// <returns>The offset of each batch's first record.</returns>
    public async Task<IReadOnlyList<long>> StoreBelowAsync(
        string topic, int queue, CancellationToken cancellationToken, params byte[][] batches)
    {
        TopicDescription made = await Client.Admin.DescribeTopicAsync(topic, cancellationToken);
        QueueId id = made.Queues[queue].Id;
        await StopAsync();
        IReadOnlyList<long> offsets = await BelowTheBroker.AppendAsync(
            _options.Store, batches.Select(batch => (id, TagBits.Unknown, batch)), cancellationToken);
        await StartBrokerAsync();
        return offsets;
    }

    /// <summary>Stops the broker in order and starts it again at the same address over the same directory.</summary>
    public async Task RestartAsync()
    {
        await StopAsync();
        await StartBrokerAsync();
    }

    public async Task StopAsync()
    {
        await _broker!.DisposeAsync();
        _broker = null;
    }

    public async Task StartBrokerAsync()
    {
        string listen = Address.Length == 0 ? _options.Listen : Address;
        _broker = await Eventually.StartedAsync(() => EQueueBroker.StartAsync(_options with { Listen = listen }));
        Address = _options.InMemory is null ? HostPort.Format(_broker.EndPoint) : "";
    }

    public async ValueTask DisposeAsync()
    {
        await Client.DisposeAsync();
        if (_broker is not null)
            await _broker.DisposeAsync();
        _directory.Dispose();
    }
}
