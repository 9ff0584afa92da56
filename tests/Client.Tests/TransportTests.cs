using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Clients and brokers over everything that frames travel over, with a broker that goes and comes back.</summary>
public sealed class TransportTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenIPv6_WhenTheBrokerRestarts_ThenMessagesAreSentAndReadOn()
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "This machine has no IPv6.");
        await using TestBroker broker = await TestBroker.StartAsync(listen: "[::1]:0");
        Assert.StartsWith("[::1]:", broker.Address, StringComparison.Ordinal);
        await AssertServedOverARestartAsync(broker);
    }

    [Fact]
    public async Task GivenUnixSocket_WhenTheBrokerRestarts_ThenMessagesAreSentAndReadOn()
    {
        using var directory = new TempDirectory();
        await using TestBroker broker = await TestBroker.StartAsync(listen: $"unix:{directory["equeue.sock"]}");
        await AssertServedOverARestartAsync(broker);
    }

    [Fact]
    public async Task GivenInMemory_WhenTheBrokerRestarts_ThenMessagesAreSentAndReadOn()
    {
        await using TestBroker broker = await TestBroker.StartAsync(inMemory: new InMemoryEndPoint());
        await AssertServedOverARestartAsync(broker);
    }

    private static async Task AssertServedOverARestartAsync(TestBroker broker)
    {
        await using Producer producer = broker.Client.CreateProducer();
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["t"]);
        var sends = new List<Task>();
        for (int i = 0; i < 4_000; i++)
        {
            sends.Add(
                producer.SendAsync("t", BitConverter.GetBytes(i), key: "one", cancellationToken: Token).AsTask());
            if (i != 2_000)
                continue;
            await sends[1_000];
            await broker.RestartAsync();
        }

        await Task.WhenAll(sends);
        int next = 0;
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            Assert.Equal(next++, BitConverter.ToInt32(message.Body.Span));
            if (next == sends.Count)
                break;
        }
    }
}
