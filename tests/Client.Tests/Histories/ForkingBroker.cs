using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Client.Tests.Histories;

/// <summary>A real broker over a disk in memory that is killed, loses its power, and has its directory put back as it
/// was once, while its clients live on. One topic "t"; messages are numbers that rise over all histories.</summary>
internal sealed class ForkingBroker : IAsyncDisposable
{
    public const string Topic = "t";

    private readonly BrokerOptions _options;
    private readonly CollectedLog _log = new();
    private EQueueBroker? _broker;
    private EQueueClient? _client;
    private Producer? _producer;
    private Producer? _durable;
    private int _sent;

    private ForkingBroker(BrokerOptions options) => _options = options;

    /// <summary>What is on the disk now; the broker writes on.</summary>
    public SimulatedDisk Disk { get; private set; } = new();

    public string Address { get; private set; } = "";

    /// <summary>Bodies have up to so many bytes more than their number.</summary>
    public int BodyBytes { get; init; }

    /// <summary>What the broker logged, in all its lives.</summary>
    public CollectedLog Log => _log;

    /// <summary>A client for questions, and its producer, who lives through everything.</summary>
    public EQueueClient Client => _client!;

    /// <summary>Every message ever acknowledged, in the order sent: its number and where it was stored.</summary>
    public List<(int Value, int Queue, long Offset)> Acknowledged { get; } = [];

    public static async Task<ForkingBroker> StartAsync(
        FlushPolicy flush = FlushPolicy.Sync,
        int queues = 1,
        int bodyBytes = 0,
        Func<BrokerOptions, BrokerOptions>? change = null)
    {
        var store = new StoreOptions
        {
            DataDirectory = "/data",
            FlushPolicy = flush,
            FlushInterval = TimeSpan.FromHours(1),
            SegmentSizeBytes = 8 << 20,
            ReserveBytes = 0,
        };
        var options = new BrokerOptions
        {
            Listen = "127.0.0.1:0",
            DataDirectory = "/data",
            Store = store,
            Topics = new TopicOptions { QueueCount = queues },
            Groups = new GroupOptions { SettleWindow = TimeSpan.FromMilliseconds(200) },
            DrainTimeout = TimeSpan.FromMilliseconds(100),
        };
        var broker = new ForkingBroker(change?.Invoke(options) ?? options) { BodyBytes = bodyBytes };
        await broker.StartOnAsync(broker.Disk);
        broker._client = new EQueueClient(new ClientOptions
        {
            Addresses = broker.Address,
            ReconnectBackoffMax = TimeSpan.FromMilliseconds(50),
        });
        var sending = new ProducerOptions { BatchBytes = 16 << 10 };
        broker._producer = broker._client.CreateProducer(sending);
        broker._durable = broker._client.CreateProducer(sending with { Durability = Durability.Durable });
        return broker;
    }

    /// <summary>Sends so many messages one batch each, and waits for all.</summary>
    public async Task SendAsync(int count, bool areDurable = false)
    {
        var receipts = new List<(int Value, Task<SendReceipt> Receipt)>();
        for (int i = 0; i < count; i++)
        {
            int value = _sent++;
            receipts.Add((value, (areDurable ? _durable! : _producer!).SendAsync(
                Topic,
                BodyOf(value),
                key: $"{value}",
                cancellationToken: TestContext.Current.CancellationToken).AsTask()));
        }

        foreach ((int value, Task<SendReceipt> receipt) in receipts)
        {
            SendReceipt stored = await receipt;
            Acknowledged.Add((value, stored.Queue, stored.Offset.Value));
        }
    }

    private byte[] BodyOf(int value)
    {
        byte[] body = new byte[sizeof(int) + (BodyBytes == 0 ? 0 : value % BodyBytes)];
        BitConverter.TryWriteBytes(body, value);
        return body;
    }

    /// <summary>Another disk with everything that is written now.</summary>
    public SimulatedDisk Save() => Disk.Copy();

    /// <summary>The process dies; the next one finds a copy made before, or what it left itself.</summary>
    public async Task KillAsync(SimulatedDisk? putBack = null)
    {
        // What it does between this moment and its end no client will see: its disk must last as long as it answers.
        SimulatedDisk left = Disk.Copy();
        await StopAsync();
        await StartOnAsync(putBack?.Copy() ?? left);
    }

    /// <summary>The power goes: what was not synced is lost.</summary>
    public async Task CutPowerAsync()
    {
        SimulatedDisk left = Disk.AfterPowerCut(seed: 1, PowerCutStyle.NothingUnsynced);
        await StopAsync();
        await StartOnAsync(left);
    }

    /// <summary>The same under load: the disk is off from this moment on, so the broker acknowledges nothing that the
    /// next one does not find.</summary>
    public async Task CutPowerNowAsync(int seed)
    {
        SimulatedDisk left = Disk.CutPower(seed);
        await StopAsync();
        await StartOnAsync(left);
    }

    /// <summary>Stops in order and starts again.</summary>
    public async Task RestartAsync()
    {
        await StopAsync();
        await StartOnAsync(Disk);
    }

    /// <summary>The process ends; the disk is the test's until <see cref="StartOnAsync"/>.</summary>
    public async Task StopAsync()
    {
        if (_broker is null)
            return;
        await _broker.DisposeAsync();
        _broker = null;
    }

    public async Task StartOnAsync(SimulatedDisk disk)
    {
        Disk = disk;
        string listen = Address.Length == 0 ? _options.Listen : Address;
        BrokerOptions options = _options with { Listen = listen, Store = _options.Store with { Disk = disk } };
        _broker = await Eventually.StartedAsync(() => EQueueBroker.StartAsync(options, _log));
        Address = HostPort.Format(_broker.EndPoint);
    }

    /// <summary>Everything that the topic holds now, by queue and offset.</summary>
    public async Task<List<(int Queue, long Offset, int Value)>> ReadAllAsync()
    {
        await using QueueReader reader = Client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync(Topic, StartPosition.Begin, TestContext.Current.CancellationToken);
        List<(int, long, int)> read = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(TestContext.Current.CancellationToken))
            read.Add((message.Queue, message.Offset.Value, BitConverter.ToInt32(message.Body.Span)));
        return read;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (Producer? producer in new[] { _producer, _durable })
        {
            if (producer is not null)
                await producer.AbortAsync();
        }

        if (_client is not null)
            await _client.DisposeAsync();
        await StopAsync();
    }
}
