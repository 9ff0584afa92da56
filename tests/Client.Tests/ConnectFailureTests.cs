using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>A broker that cannot be reached: the reason is told at once, and by every failure.</summary>
public sealed class ConnectFailureTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenARefusedPort_WhenCalled_ThenTheReasonIsToldAtOnceAndByTheException()
    {
        int port = UnusedPort();
        await using var told = new Told($"localhost:{port}");
        Task<BrokerFigures> call = told.Client.Admin.ReadFiguresAsync(Token).AsTask();
        await Eventually.TrueAsync(() => !told.Failures.IsEmpty);
        Assert.False(call.IsCompleted, "The reason comes while the client still tries.");
        Assert.True(told.Failures.TryPeek(out ConnectFailure? failure));
        Assert.Equal(($"localhost:{port}", "connection refused"), (failure.Address, failure.Reason));

        EQueueException exception = await Assert.ThrowsAsync<EQueueException>(() => call);
        Assert.Equal(ErrorCode.Unreachable, exception.Code);
        Assert.Contains($"localhost:{port} within 2 s: connection refused.", exception.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAnUnknownHost_WhenCalled_ThenTheExceptionSaysSo()
    {
        await using var told = new Told("broker.invalid:9490");
        EQueueException exception =
            await Assert.ThrowsAsync<EQueueException>(() => told.Client.Admin.ReadFiguresAsync(Token).AsTask());
        Assert.Contains("broker.invalid:9490", exception.Message, StringComparison.Ordinal);
        Assert.Contains("no such host", exception.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAPortThatAnswersHttp_WhenCalled_ThenItIsSaidAtOnceThatItIsTheAdminPort()
    {
        await using var http = HttpPort.Start();
        await using var told = new Told($"127.0.0.1:{http.Port}", TimeSpan.FromMinutes(5));
        EQueueException exception = await Assert.ThrowsAsync<EQueueException>(
            () => told.Client.Admin.ReadFiguresAsync(Token).AsTask().WaitAsync(TimeSpan.FromMinutes(1), Token));
        Assert.Equal(ErrorCode.NotABroker, exception.Code);
        Assert.Contains("admin port", exception.Message, StringComparison.Ordinal);
        Assert.Contains("9490", exception.Message, StringComparison.Ordinal);

        await using Producer producer = told.Client.CreateProducer();
        EQueueException send = await Assert.ThrowsAsync<EQueueException>(
            () => producer.SendAsync("t", [1], cancellationToken: Token).AsTask()
                .WaitAsync(TimeSpan.FromMinutes(1), Token));
        Assert.Equal(ErrorCode.NotABroker, send.Code);
    }

    [Fact]
    public async Task GivenAPortThatSpeaksTls_WhenCalledWithout_ThenItIsSaidAtOnce()
    {
        using var directory = new TempDirectory();
        using var authority = TestAuthority.Create();
        using TestCertificate certificate = authority.Sign();
        await File.WriteAllTextAsync(directory["server.pem"], certificate.Pem, Token);
        await using TestBroker broker = await TestBroker.StartAsync(
            tls: new ServerTlsOptions { Certificate = directory["server.pem"] });
        await using var told = new Told(broker.Address, TimeSpan.FromMinutes(5));
        EQueueException exception = await Assert.ThrowsAsync<EQueueException>(
            () => told.Client.Admin.ReadFiguresAsync(Token).AsTask().WaitAsync(TimeSpan.FromMinutes(1), Token));
        Assert.Contains("TLS", exception.Message, StringComparison.Ordinal);
        Assert.Contains(told.Failures, failure => failure.Reason.Contains("TLS", StringComparison.Ordinal));
    }

    [Fact]
    public async Task GivenABrokerThatIsAway_WhenCallsFail_ThenNoCauseSaysCancelledAndAddressesAreAsTheyWereGiven()
    {
        await using var told = new Told($"localhost:{UnusedPort()}", TimeSpan.FromMilliseconds(300));
        await using Producer producer = told.Client.CreateProducer(
            new ProducerOptions { DeliveryTimeout = TimeSpan.FromMilliseconds(300) });
        await using QueueReader reader = told.Client.CreateReader();
        await using Consumer consumer = told.Client.CreateConsumer("g", ["t"]);
        Func<Task>[] calls =
        [
            () => told.Client.Admin.ReadFiguresAsync(Token).AsTask(),
            () => told.Client.Admin.DescribeBrokerAsync(Token).AsTask(),
            () => told.Client.Admin.DescribeTopicAsync("t", Token).AsTask(),
            () => producer.SendAsync("t", [1], cancellationToken: Token).AsTask(),
            () => producer.SendBatchAsync("t", [new Message { Body = new byte[1] }], Token).AsTask(),
            () => Task.Run(() => producer.SendOneway("t", [1], cancellationToken: Token)),
            () => reader.AssignAllAsync("t", StartPosition.Begin, Token).AsTask(),
            () => consumer.JoinAsync(Token).AsTask(),
        ];
        foreach (Func<Task> call in calls)
        {
            EQueueException exception = await Assert.ThrowsAsync<EQueueException>(call);
            Assert.Contains("connection refused", exception.Message, StringComparison.Ordinal);
            for (Exception? cause = exception; cause is not null; cause = cause.InnerException)
            {
                Assert.False(cause is OperationCanceledException, exception.ToString());
                Assert.DoesNotContain("cancel", cause.Message, StringComparison.OrdinalIgnoreCase);
                Assert.DoesNotContain("gave up", cause.Message, StringComparison.OrdinalIgnoreCase);
                Assert.DoesNotContain("Unspecified", cause.Message, StringComparison.Ordinal);
            }
        }
    }

    [Fact]
    public async Task GivenABrokerThatStaysAway_WhenManyAttemptsFail_ThenOneReasonIsToldOnceEveryTenSeconds()
    {
        await using var told = new Told($"127.0.0.1:{UnusedPort()}");
        await Assert.ThrowsAsync<EQueueException>(() => told.Client.Admin.ReadFiguresAsync(Token).AsTask());
        Assert.Single(told.Failures);
    }

    private static int UnusedPort()
    {
        using var socket = new TcpListener(IPAddress.Loopback, 0);
        socket.Start();
        return ((IPEndPoint)socket.LocalEndpoint).Port;
    }

    private sealed class Told : IAsyncDisposable
    {
        public Told(string address, TimeSpan? timeout = null) => Client = new EQueueClient(new ClientOptions
        {
            Addresses = address,
            RequestTimeout = timeout ?? TimeSpan.FromSeconds(2),
            ConnectFailed = Failures.Enqueue,
        });

        public ConcurrentQueue<ConnectFailure> Failures { get; } = new();

        public EQueueClient Client { get; }

        public ValueTask DisposeAsync() => Client.DisposeAsync();
    }

    /// <summary>Answers what an HTTP server answers to bytes that are no request.</summary>
    private sealed class HttpPort : IAsyncDisposable
    {
        private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
        private readonly Task _loop;

        private HttpPort()
        {
            _listener.Start();
            _loop = RunAsync();
        }

        public int Port => ((IPEndPoint)_listener.LocalEndpoint).Port;

        public static HttpPort Start() => new();

        public async ValueTask DisposeAsync()
        {
            _listener.Stop();
            await _loop;
        }

        private async Task RunAsync()
        {
            try
            {
                while (true)
                {
                    using Socket peer = await _listener.AcceptSocketAsync();
                    await peer.ReceiveAsync(new byte[1024]);
                    await peer.SendAsync("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"u8.ToArray());
                }
            }
            catch (Exception exception) when (exception is SocketException or InvalidOperationException)
            {
                // The test is over.
            }
        }
    }
}
