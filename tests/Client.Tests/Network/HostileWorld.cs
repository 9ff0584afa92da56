using System.Collections.Concurrent;
using System.Net;
using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Client.Tests.Network;

/// <summary>One real broker for many runs, a client that reaches it directly, and what must not happen
/// meanwhile.</summary>
internal sealed class HostileWorld : IAsyncDisposable
{
    private readonly TempDirectory _directory = new();
    private readonly ConcurrentQueue<string> _wrong = new();
    private EQueueBroker? _broker;

    private HostileWorld()
    {
        // What the tests before left behind is not this world's.
        GC.Collect();
        GC.WaitForPendingFinalizers();
        TaskScheduler.UnobservedTaskException += OnUnobserved;
    }

    public Histogram Histogram { get; } = new();

    public EndPoint EndPoint => _broker!.EndPoint;

    /// <summary>A client whose network is good.</summary>
    public EQueueClient Direct { get; private set; } = null!;

    /// <summary>Errors that were logged and exceptions that were not observed.</summary>
    public IReadOnlyList<string> Wrong => [.. _wrong];

    public static async Task<HostileWorld> StartAsync()
    {
        var world = new HostileWorld();
        var options = new BrokerOptions
        {
            Listen = "127.0.0.1:0",
            DataDirectory = world._directory["data"],
            Store = new StoreOptions
            {
                DataDirectory = world._directory["data"],
                FlushPolicy = FlushPolicy.Async,
                SegmentSizeBytes = 8 * 1024 * 1024,
                TailMemoryBytes = 16 * 1024 * 1024,
                ReserveBytes = 0,
            },
            Topics = new TopicOptions { RetentionInterval = TimeSpan.FromSeconds(1) },
            Groups = new GroupOptions { ReconnectGrace = TimeSpan.FromMilliseconds(300) },
        };
        world._broker = await EQueueBroker.StartAsync(options, new ErrorLog(world._wrong));
        world.Direct = new EQueueClient(new ClientOptions { Addresses = world.EndPoint.ToString()! });
        return world;
    }

    public long Figure(string name) => _broker!.CollectStats().Find(name) ?? -1;

    public async ValueTask DisposeAsync()
    {
        TaskScheduler.UnobservedTaskException -= OnUnobserved;
        await Direct.DisposeAsync();
        if (_broker is not null)
            await _broker.DisposeAsync();
        _directory.Dispose();
    }

    private void OnUnobserved(object? sender, UnobservedTaskExceptionEventArgs arguments) =>
        _wrong.Enqueue($"nobody saw {arguments.Exception}");

    private sealed class ErrorLog(ConcurrentQueue<string> wrong) : LogSink(LogLevel.Error)
    {
        protected override void OnLine(LogLine line) =>
            wrong.Enqueue($"{line.Level} {line.Id}: {line.Text} {line.Exception}");
    }
}
