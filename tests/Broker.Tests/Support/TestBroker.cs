using System.Net;
using EQueue.MessageStore;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Broker.Tests;

/// <summary>A real broker over a folder of its own, small segments, on any free port.</summary>
internal sealed class TestBroker : IAsyncDisposable
{
    private TestBroker(EQueueBroker broker, BrokerOptions options, bool ownsDirectory)
    {
        Broker = broker;
        Options = options;
        OwnsDirectory = ownsDirectory;
    }

    public EQueueBroker Broker { get; }

    public BrokerOptions Options { get; }

    public bool OwnsDirectory { get; set; }

    public EndPoint EndPoint => Broker.EndPoint;

    public static BrokerOptions SmallOptions(FlushPolicy flush = FlushPolicy.Async) => new()
    {
        Listen = "127.0.0.1:0",
        DataDirectory = Path.Combine(Path.GetTempPath(), "equeue-broker-" + Guid.NewGuid().ToString("N")),
        DrainTimeout = TimeSpan.FromSeconds(5),
        Store = new StoreOptions
        {
            DataDirectory = ".",
            FlushPolicy = flush,
            SegmentSizeBytes = 8 << 20,
            TailMemoryBytes = 16 << 20,
            ReserveBytes = 0,
        },
    };

    public static async Task<TestBroker> StartAsync(
        BrokerOptions? options = null, TimeProvider? time = null, ILoggerFactory? loggers = null)
    {
        options ??= SmallOptions();
        EQueueBroker broker = await EQueueBroker.StartAsync(
            options, loggers ?? NullLoggerFactory.Instance, time ?? TimeProvider.System, CancellationToken.None);
        return new TestBroker(broker, options, ownsDirectory: true);
    }

    /// <summary>Stops in order and starts again over the same folder.</summary>
    public async Task<TestBroker> RestartAsync()
    {
        OwnsDirectory = false;
        await DisposeAsync();
        return await StartAsync(Options);
    }

    /// <summary>
    /// Starts another broker over a copy of the folder as it is now, with this one running: as a kill would leave it.
    /// </summary>
    public Task<TestBroker> StartFromCopyAsync(TimeProvider? time = null)
    {
        string copy = Options.DataDirectory + "-copy";
        CopyDirectory(Options.DataDirectory, copy);
        return StartAsync(Options with { DataDirectory = copy }, time);
    }

    public Task<TestPeer> ConnectAsync(string name = "test") => TestPeer.ConnectAsync(EndPoint, name);

    public async ValueTask DisposeAsync()
    {
        await Broker.DisposeAsync();
        if (OwnsDirectory && Directory.Exists(Options.DataDirectory))
            Directory.Delete(Options.DataDirectory, recursive: true);
    }

    private static void CopyDirectory(string from, string to)
    {
        Directory.CreateDirectory(to);
        foreach (string directory in Directory.GetDirectories(from))
            CopyDirectory(directory, Path.Combine(to, Path.GetFileName(directory)));
        foreach (string file in Directory.GetFiles(from))
        {
            try
            {
                File.Copy(file, Path.Combine(to, Path.GetFileName(file)));
            }
            catch (IOException) when (Path.GetFileName(file) == "lock")
            {
                // Held by the running broker; the other one makes its own.
            }
            catch (FileNotFoundException)
            {
                // A snapshot that has got its name, or was replaced, meanwhile.
            }
        }
    }
}
