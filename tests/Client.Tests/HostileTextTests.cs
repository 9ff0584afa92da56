using System.Reflection;
using EQueue.Remoting;
using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Client.Tests;

/// <summary>What a hostile broker can write into the log of its clients, and what clients refuse to send.</summary>
public sealed class HostileTextTests
{
    private const string Forged = "me\n2026-01-01 [INF] \u001b[31mforged";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenABrokerWhoseVersionIsALineOfTheLog_WhenTheClientConnects_ThenItsLogHasOneLineWithoutControls()
    {
        var log = new CollectedLog();
        await using FakeBroker broker = await FakeBroker.StartAsync();
        broker.Version = Forged;
        await using (var client = new EQueueClient(
            new ClientOptions { Addresses = broker.Address, LoggerFactory = log }))
        {
            await client.Admin.DescribeBrokerAsync(Token);
        }

        Assert.Contains(log.Texts, text => text.Contains("me\\n2026", StringComparison.Ordinal));
        Assert.All(log.Texts, text => Assert.True(PrintableText.Is(text), text));
    }

    [Fact]
    public void GivenTextOfABrokerInAnyEvent_WhenLogged_ThenItIsOneLineWithoutControls()
    {
        MethodInfo[] events = [.. typeof(EQueueClient).Assembly.GetType("EQueue.Client.Log")!
            .GetMethods(BindingFlags.Static | BindingFlags.Public)
            .Where(method => method.GetCustomAttribute<LoggerMessageAttribute>() is not null)];
        Assert.NotEmpty(events);
        var log = new CollectedLog();
        ILogger logger = new PrintableLoggerFactory(log, TimeProvider.System).CreateLogger("any");
        foreach (MethodInfo one in events)
            LogEvent.Write(one, logger, Forged);
        Assert.True(log.Lines.Count >= events.Length);
        Assert.All(log.Texts, text => Assert.True(PrintableText.Is(text), text));
    }

    [Fact]
    public async Task GivenControlCharactersInNames_WhenUsed_ThenTheClientRefusesThemAtOnce()
    {
        Assert.Throws<ArgumentException>(() => new EQueueClient(new ClientOptions { ClientName = Forged }));
        Assert.Throws<ArgumentException>(() => new RecordProperties().Add(Forged, "value"));
        await using FakeBroker broker = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(broker.Address);
        Assert.Throws<ArgumentException>(
            () => client.CreateConsumer("g", ["t"], new ConsumerOptions { Tags = [Forged] }));
        await using Producer producer = client.CreateProducer();
        byte[] body = [1, 2, 3, 4];
        EQueueException refused = await Assert.ThrowsAsync<EQueueException>(
            async () => await producer.SendAsync("t", body, tag: Forged, cancellationToken: Token));
        Assert.Equal(ErrorCode.InvalidArgument, refused.Code);
        refused = await Assert.ThrowsAsync<EQueueException>(
            async () => await producer.SendBatchAsync("t", [new Message(body), new Message(body, Tag: Forged)], Token));
        Assert.Equal(ErrorCode.InvalidArgument, refused.Code);
        Assert.Empty(broker.All());
    }
}
