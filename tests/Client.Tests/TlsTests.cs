using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Whole clients and brokers over TLS: what works, what is refused, and a broker that goes and comes back.</summary>
public sealed class TlsTests : IDisposable
{
    private readonly TempDirectory _directory = new();
    private readonly TestAuthority _authority = TestAuthority.Create();

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private TlsOptions Trusting => new() { AuthorityFile = Write("authority.pem", _authority.Pem) };

    [Fact]
    public async Task GivenTls_WhenMessagesOfAllSizesAreSentAndRead_ThenTheyComeAsTheyWere()
    {
        await using TestBroker broker = await StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        int[] sizes = [0, 1, 1_000, 100_000, 4 << 20];
        foreach (int size in sizes)
            await producer.SendAsync("t", Body(size), key: "one", cancellationToken: Token);
        await using Consumer consumer = broker.Client.CreateConsumer(
            "g", ["t"], new ConsumerOptions { StopAtEnd = true });
        int seen = 0;
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            Assert.True(message.Body.Span.SequenceEqual(Body(sizes[seen++])));
        Assert.Equal(sizes.Length, seen);
    }

    [Fact]
    public async Task GivenBrokerThatRestartsUnderAProducerOverTls_WhenItIsBack_ThenEachMessageIsStoredOnce()
    {
        await using TestBroker broker = await StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        const int Count = 20_000;
        var sends = new Task<SendReceipt>[Count];
        for (int i = 0; i < Count; i++)
        {
            sends[i] = producer.SendAsync("t", BitConverter.GetBytes(i), key: $"{i % 8}", cancellationToken: Token)
                .AsTask();
            if (i % 8_000 != 7_999)
                continue;
            await Task.WhenAny(sends[i - 100], sends[i]);
            await broker.RestartAsync();
        }

        SendReceipt[] receipts = await Task.WhenAll(sends);
        Assert.Equal(Count, receipts.Select(static receipt => (receipt.Queue, receipt.Offset)).Distinct().Count());
        await using Consumer consumer = broker.Client.CreateConsumer(
            "g", ["t"], new ConsumerOptions { StopAtEnd = true });
        var last = new Dictionary<string, int>();
        int seen = 0;
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            int value = BitConverter.ToInt32(message.Body.Span);
            Assert.True(value > last.GetValueOrDefault(message.KeyText!, -1));
            last[message.KeyText!] = value;
            seen++;
        }

        Assert.Equal(Count, seen);
    }

    [Fact]
    public async Task GivenUntrustedBroker_WhenUsed_ThenEveryCallFailsAtOnceWithTheReasonAndIsNotRetried()
    {
        await using TestBroker broker = await StartAsync();
        using var other = TestAuthority.Create("Another root");
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = broker.Address,
            Tls = new TlsOptions { AuthorityFile = Write("other.pem", other.Pem) },
        });
        await AssertRefusedAsync(client, "the certificate is not trusted");
    }

    [Fact]
    public async Task GivenTlsBroker_WhenUsedWithoutTls_ThenEveryCallFailsAtOnceAndSaysSo()
    {
        await using TestBroker broker = await StartAsync();
        await using var client = new EQueueClient(broker.Address);
        await AssertRefusedAsync(client, "The peer speaks TLS");
    }

    [Fact]
    public async Task GivenPlainBroker_WhenUsedWithTls_ThenEveryCallFailsAtOnceAndSaysSo()
    {
        await using TestBroker broker = await TestBroker.StartAsync();
        await using var client = new EQueueClient(new ClientOptions { Addresses = broker.Address, Tls = Trusting });
        await AssertRefusedAsync(client, "does not speak TLS");
    }

    [Fact]
    [EffectOf("Server:Tls:ClientCertificates", "Server:Tls:ClientAuthority")]
    public async Task GivenBrokerThatAsksForCertificates_WhenClientsHaveOneOrNot_ThenTheyAreServedOrTold()
    {
        using TestCertificate own = _authority.Sign("client");
        await using TestBroker broker = await StartAsync(tls => tls with
        {
            ClientCertificates = ClientCertificates.Require,
            ClientAuthority = Trusting.AuthorityFile,
        });
        await AssertRefusedAsync(broker.Client, "the peer showed none");
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = broker.Address,
            Tls = Trusting with { CertificateFile = Write("client.pem", own.Pem) },
        });
        await using Producer producer = client.CreateProducer();
        Assert.Equal(0, (await producer.SendAsync("t", "hello"u8, cancellationToken: Token)).Offset.Value);
    }

    [Fact]
    public async Task GivenProducerWhoseBrokerComesBackUntrusted_WhenThatIsMended_ThenItSendsOn()
    {
        string file = Write("server.pem", "");
        using var other = TestAuthority.Create("Another root");
        await using TestBroker broker = await StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        await producer.SendAsync("t", "before"u8, cancellationToken: Token);
        using (TestCertificate stranger = other.Sign())
            await File.WriteAllTextAsync(file, stranger.Pem, Token);
        await broker.RestartAsync();
        EQueueException failure = await Assert.ThrowsAsync<EQueueException>(
            async () => await producer.SendAsync("t", "refused"u8, cancellationToken: Token));
        Assert.Equal(ErrorCode.AuthenticationFailed, failure.Code);
        using (TestCertificate renewed = _authority.Sign())
            await File.WriteAllTextAsync(file, renewed.Pem, Token);
        await Eventually.TrueAsync(async () =>
        {
            try
            {
                await producer.SendAsync("t", "after"u8, cancellationToken: Token);
                return true;
            }
            catch (EQueueException exception) when (exception.Code == ErrorCode.AuthenticationFailed)
            {
                return false;
            }
        });
    }

    public void Dispose()
    {
        _authority.Dispose();
        _directory.Dispose();
    }

    private static byte[] Body(int size)
    {
        byte[] body = new byte[size];
        new Random(size).NextBytes(body);
        return body;
    }

    private static async Task AssertRefusedAsync(EQueueClient client, string reason)
    {
        await using Producer producer = client.CreateProducer();
        await using Consumer consumer = client.CreateConsumer("g", ["t"]);
        Func<Task>[] calls =
        [
            () => client.Admin.DescribeBrokerAsync(Token).AsTask(),
            () => client.Admin.DescribeTopicAsync("t", Token).AsTask(),
            () => producer.SendAsync("t", "x"u8, cancellationToken: Token).AsTask(),
            async () =>
            {
                await foreach (ReceivedMessage _ in consumer.ReadAllAsync(Token))
                    Assert.Fail("Nothing can come.");
            },
        ];
        foreach (Func<Task> call in calls)
        {
            EQueueException failure =
                await Assert.ThrowsAsync<EQueueException>(call).WaitAsync(TimeSpan.FromSeconds(20), Token);
            Assert.Equal(ErrorCode.AuthenticationFailed, failure.Code);
            Assert.False(failure.IsRetriable);
            Assert.Contains(reason, failure.Message, StringComparison.Ordinal);
        }
    }

    private async Task<TestBroker> StartAsync(Func<ServerTlsOptions, ServerTlsOptions>? change = null)
    {
        using TestCertificate certificate = _authority.Sign();
        var tls = new ServerTlsOptions { Certificate = Write("server.pem", certificate.Pem) };
        return await TestBroker.StartAsync(tls: change is null ? tls : change(tls), clientTls: Trusting);
    }

    private string Write(string name, string text)
    {
        File.WriteAllText(_directory[name], text);
        return _directory[name];
    }
}
