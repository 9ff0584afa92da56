using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>The end of clients, producers, consumers and readers: bounded, and telling what was not done.</summary>
public sealed class ClosingTests
{
    /// <summary>Far more than any end here takes, far less than what was waited for before.</summary>
    private static readonly TimeSpan Soon = TimeSpan.FromSeconds(20);

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenABrokerThatIsAway_WhenAHostEnds_ThenPendingSendsFailInItsTimeAndAreToldAsNotSent()
    {
        var log = new CollectedLog();
        var client = new EQueueClient(new ClientOptions
        {
            Addresses = $"127.0.0.1:{UnusedPort()}",
            CloseTimeout = TimeSpan.FromMilliseconds(300),
            LoggerFactory = log,
        });
        Producer producer = client.CreateProducer();
        Task<SendReceipt>[] sends = Enumerable.Range(0, 3)
            .Select(_ => producer.SendAsync("orders", new byte[8], cancellationToken: Token).AsTask()).ToArray();
        EQueueException? told = null;
        producer.Send("orders", new Message(new byte[8]), (_, _, error) => told = error);
        await client.DisposeAsync().AsTask().WaitAsync(Soon, Token);
        foreach (Task<SendReceipt>? send in sends)
            Assert.False((await Assert.ThrowsAsync<ProducerClosedException>(() => send)).MayBeStored);
        Assert.Equal(ErrorCode.Disposed, told?.Code);
        Assert.Contains(log.Texts, static text => text.Contains("4 messages for orders were not sent, 0 more", StringComparison.Ordinal));
    }

    [Fact]
    public async Task GivenABrokerThatDoesNotAnswer_WhenTheProducerIsClosed_ThenWhatWasSentMayBeStoredAndTheRestIsNot()
    {
        await using FakeBroker fake = await FakeBroker.StartAsync();
        var log = new CollectedLog();
        await using var client = new EQueueClient(
            new ClientOptions { Addresses = fake.Address, LoggerFactory = log });
        Producer producer = client.CreateProducer(new ProducerOptions { BatchBytes = 1024, MaxInFlight = 1 });
        await producer.SendAsync("t", new byte[8], cancellationToken: Token);
        fake.Script = static _ => Verdict.Ignore;
        Task<SendReceipt> sent = producer.SendAsync("t", new byte[900], key: "k", cancellationToken: Token).AsTask();
        await Eventually.TrueAsync(() => fake.ProduceCount >= 2);
        Task<SendReceipt> open = producer.SendAsync("t", new byte[900], key: "k", cancellationToken: Token).AsTask();
        await producer.CloseAsync(TimeSpan.FromMilliseconds(100)).AsTask().WaitAsync(Soon, Token);
        Assert.True((await Assert.ThrowsAsync<ProducerClosedException>(() => sent)).MayBeStored);
        Assert.False((await Assert.ThrowsAsync<ProducerClosedException>(() => open)).MayBeStored);
        Assert.Contains(log.Texts, static text => text.Contains("1 messages for t were not sent, 1 more", StringComparison.Ordinal));
        Assert.Equal(0, log.CountOf(5013));
    }

    [Fact]
    public async Task GivenTheOnlySendWasCancelled_WhenTheProducerIsDisposed_ThenItEndsAtOnce()
    {
        var isAway = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = $"127.0.0.1:{UnusedPort()}",
            CloseTimeout = TimeSpan.FromDays(1),
            RequestTimeout = TimeSpan.FromDays(1),
            ConnectFailed = _ => isAway.TrySetResult(),
        });
        Producer producer = client.CreateProducer(new ProducerOptions { DeliveryTimeout = TimeSpan.FromDays(1) });
        using var stop = new CancellationTokenSource();
        Task<SendReceipt> send = producer.SendAsync("t", new byte[8], cancellationToken: stop.Token).AsTask();

        // From here on the route is waited for, and not only the send.
        await isAway.Task.WaitAsync(Soon, Token);
        await stop.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => send);
        try
        {
            await producer.DisposeAsync().AsTask().WaitAsync(Soon, Token);
        }
        finally
        {
            await client.CloseAsync(TimeSpan.Zero);
        }
    }

    [Fact]
    public async Task GivenNothingPending_WhenEverythingIsDisposed_ThenABrokerThatIsAwayIsNotWaitedFor()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = broker.Address,
            CloseTimeout = TimeSpan.FromDays(1),
        });
        Producer producer = client.CreateProducer();
        await producer.SendAsync("t", new byte[8], cancellationToken: Token);
        Consumer consumer = client.CreateConsumer("g", ["t"]);
        QueueReader reader = client.CreateReader();
        await reader.AssignAllAsync("t", StartPosition.Begin, Token);
        await consumer.JoinAsync(Token);
        await broker.StopAsync();
        await client.DisposeAsync().AsTask().WaitAsync(Soon, Token);
    }

    [Fact]
    public async Task GivenProgressAndABrokerThatIsAway_WhenTheConsumerIsClosed_ThenItsTimeBoundsTheWaitAndItIsTold()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using (Producer producer = broker.Client.CreateProducer())
            await producer.SendAsync("t", new byte[8], cancellationToken: Token);
        var log = new CollectedLog();
        await using var client = new EQueueClient(
            new ClientOptions { Addresses = broker.Address, LoggerFactory = log });
        Consumer consumer = client.CreateConsumer(
            "g", ["t"], new ConsumerOptions { AutoCommitInterval = TimeSpan.FromMinutes(10) });
        using var stop = new CancellationTokenSource();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () =>
        {
            await foreach (ReceivedMessage _ in consumer.ReadAllAsync(stop.Token))
                await stop.CancelAsync();
        });
        await broker.StopAsync();
        await consumer.CloseAsync(TimeSpan.FromMilliseconds(300)).AsTask().WaitAsync(Soon, Token);
        Assert.Contains(log.Lines, static line => line.Id == 5103
            && line.Text.Contains("connection refused", StringComparison.Ordinal));
    }

    [Fact]
    public async Task GivenACallbackThatNeverReturns_WhenTheConsumerIsClosed_ThenItEndsWithoutIt()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using (Producer producer = broker.Client.CreateProducer())
            await producer.SendAsync("t", new byte[8], cancellationToken: Token);
        var never = new TaskCompletionSource();
        var isCalled = new TaskCompletionSource();
        Consumer consumer = broker.Client.CreateConsumer("g", ["t"], new ConsumerOptions
        {
            Assigned = async (_, _) =>
            {
                isCalled.TrySetResult();
                await never.Task;
            },
        });
        Task join = consumer.JoinAsync(Token).AsTask();
        await isCalled.Task.WaitAsync(Soon, Token);
        await consumer.CloseAsync(TimeSpan.FromMilliseconds(100)).AsTask().WaitAsync(Soon, Token);
        never.SetResult();
        await Task.WhenAny(join);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void GivenAContextOfOneThread_WhenEverythingIsDisposedBlocking_ThenItEnds(bool isThere)
    {
        var ended = new ManualResetEventSlim();
        var thread = new Thread(() =>
        {
            SynchronizationContext.SetSynchronizationContext(new OneThreadContext());
            using HeldBroker? broker = isThere ? new HeldBroker() : null;
            using (EQueueClient client = isThere
                ? new EQueueClient(broker!.Address) : Away(TimeSpan.FromMilliseconds(200)))
            {
                using Producer producer = client.CreateProducer();
                ValueTask<SendReceipt> send = producer.SendAsync("t", new byte[8], cancellationToken: Token);
                using Consumer consumer = client.CreateConsumer("g", ["t"]);
                using QueueReader reader = client.CreateReader();
                _ = send.AsTask().Exception;
            }

            ended.Set();
        })
        { IsBackground = true };
        thread.Start();
        Assert.True(ended.Wait(TimeSpan.FromMinutes(1), Token), "It waits for itself.");
    }

    [Fact]
    public async Task GivenACloseThatWaits_WhenAShorterTimeIsAskedFor_ThenThatHolds()
    {
        await using EQueueClient client = Away(TimeSpan.FromDays(1));
        Producer producer = client.CreateProducer();
        Task<SendReceipt> send = producer.SendAsync("t", new byte[8], cancellationToken: Token).AsTask();
        Task slow = producer.DisposeAsync().AsTask();
        Assert.False(slow.IsCompleted);
        await producer.CloseAsync(TimeSpan.FromMilliseconds(100)).AsTask().WaitAsync(Soon, Token);
        await slow;
        await Assert.ThrowsAsync<ProducerClosedException>(() => send);
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            async () => await producer.CloseAsync(TimeSpan.FromSeconds(-1)));
    }

    private static EQueueClient Away(TimeSpan closeTimeout) => new(new ClientOptions
    {
        Addresses = $"127.0.0.1:{UnusedPort()}",
        CloseTimeout = closeTimeout,
    });

    private static int UnusedPort()
    {
        using var socket = new TcpListener(IPAddress.Loopback, 0);
        socket.Start();
        return ((IPEndPoint)socket.LocalEndpoint).Port;
    }

    /// <summary>Runs nothing: its thread is busy with what the test does.</summary>
    private sealed class OneThreadContext : SynchronizationContext
    {
        private readonly ConcurrentQueue<(SendOrPostCallback, object?)> _posted = new();

        public override void Post(SendOrPostCallback d, object? state) => _posted.Enqueue((d, state));

        public override void Send(SendOrPostCallback d, object? state) => throw new NotSupportedException();
    }

    private sealed class HeldBroker : IDisposable
    {
        private readonly TestBroker _broker = Task.Run(() => TestBroker.StartAsync()).GetAwaiter().GetResult();

        public string Address => _broker.Address;

        public void Dispose() => Task.Run(() => _broker.DisposeAsync().AsTask()).GetAwaiter().GetResult();
    }
}
