using System.Reflection;
using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker.Tests;

/// <summary>What peers can write into the broker's log.</summary>
public sealed class LogTests
{
    private static readonly MethodInfo[] Events = [.. typeof(EQueueBroker).Assembly.GetType("EQueue.Broker.Log")!
        .GetMethods(BindingFlags.Static | BindingFlags.Public)
        .Where(method => method.GetCustomAttribute<LoggerMessageAttribute>() is not null)];

    [Fact]
    public void GivenTextOfAPeerInAnyEvent_WhenLogged_ThenItIsOneLineAndAFloodIsCounted()
    {
        Assert.NotEmpty(Events);
        foreach (MethodInfo one in Events)
        {
            LoggerMessageAttribute attribute = one.GetCustomAttribute<LoggerMessageAttribute>()!;
            if (attribute.Level == LogLevel.Critical)
                continue;
            var log = new CollectedLog();
            var guarded = new GuardedLogger(log, TimeProvider.System);
            for (int i = 0; i < 500; i++)
                LogEvent.Write(one, guarded, "me\n2026-01-01 [INF] \u001b[31mforged");
            guarded.Dispose();
            Assert.All(log.Texts, text => Assert.True(PrintableText.Is(text), text));
            if (attribute.Level >= LogLevel.Information)
                Assert.InRange(log.Lines.Count, 1, GuardedLogger.MostOthersOfAnEvent + 1);
        }
    }

    [Fact]
    public async Task GivenPeersThatAreRefusedAgainAndAgain_WhenTheBrokerLogs_ThenTheLogStaysShortAndOneLineAnEvent()
    {
        var log = new CollectedLog();
        BrokerOptions options = TestBroker.SmallOptions();
        EQueueBroker broker = await EQueueBroker.StartAsync(options, log, TestContext.Current.CancellationToken);
        for (int i = 0; i < 200; i++)
        {
            using RawConnection peer = await RawConnection.ConnectAsync(broker.EndPoint);
            await peer.SendAsync(RawConnection.Frame(Opcode.Stats, []));
            Assert.Equal(ErrorCode.HelloRequired, (await peer.ReceiveAsync()).Error);
        }

        using (RawConnection forger = await RawConnection.ConnectAsync(broker.EndPoint))
        {
            HelloRequest hello = TestPeer.NewHello("me") with { Tenant = "x\n2026-01-01 [INF] \u001b[31mforged" };
            await forger.SendAsync(RawConnection.Frame(Opcode.Hello, TestPeer.Encode(hello).WrittenSpan));
            Assert.Equal(ErrorCode.NotAuthorized, (await forger.ReceiveAsync()).Error);
        }

        await broker.DisposeAsync();
        Directory.Delete(options.DataDirectory, recursive: true);
        Assert.InRange(log.CountOf(3012), 1, 100);
        Assert.Contains(log.Texts, text => text.Contains("more of event 3012 from 1 addresses", StringComparison.Ordinal));
        Assert.Contains(log.Texts, text => text.Contains("x\\n2026", StringComparison.Ordinal));
        Assert.All(log.Texts, text => Assert.True(PrintableText.Is(text), text));
    }
}
