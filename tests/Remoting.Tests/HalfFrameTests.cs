using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Peers that begin frames and do not end them, beside peers that do.</summary>
public sealed class HalfFrameTests
{
    private const int MiB = 1 << 20;
    private const int LargeBytes = 256 * 1024;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private static RemotingServerOptions Options => new()
    {
        MaxFrameBytes = 4 * MiB,
        ReceiveMemoryBytes = 16 * MiB,
        MinReceiveRate = 64 * 1024,
    };

    [Theory]
    [InlineData(4 * MiB - 64, 20_000, 2)]
    [InlineData(LargeBytes, 20_000, 2)]
    [InlineData(LargeBytes, LargeBytes, 20)]
    public async Task GivenHalfFramesThatTakeAllReceiveMemory_WhenAnHonestFrameComes_ThenItIsAnsweredSoon(
        int hostileBytes, int bytes, int seconds)
    {
        await using TestServer server = await TestServer.StartAsync(options: Options);
        await using RemotingClient honest = server.NewClient();
        await honest.EchoAsync([1]);
        List<Socket> hostile = await SendHalvesAsync(server, hostileBytes, 280);
        try
        {
            await Eventually.TrueAsync(() => server.Server.ReceiveBytes > 15 * MiB - hostileBytes);
            byte[] content = Calls.Content(1, bytes);

            // It waited until the idle timeout of those before it was over, 2 min.
            Assert.Equal(content, await honest.EchoAsync(content).WaitAsync(TimeSpan.FromSeconds(seconds), Token));
            Assert.Equal(1, honest.ConnectionGeneration);
        }
        finally
        {
            foreach (Socket peer in hostile)
                peer.Dispose();
        }
    }

    [Fact]
    public async Task GivenHonestSendersInLineForMemory_WhenTheySendOn_ThenAllAreHandledAndNoneIsClosed()
    {
        RemotingServerOptions options = Options with { ReceiveMemoryBytes = MiB };
        await using TestServer server = await TestServer.StartAsync(options: options);
        byte[] frame = Calls.Frame(ScriptedHandler.Echo, FrameFlags.Oneway, 1, new byte[LargeBytes]);
        await Task.WhenAll(Enumerable.Range(0, 20).Select(async _ =>
        {
            using Socket peer = await server.ConnectRawAsync();
            using var pace = new PeriodicTimer(TimeSpan.FromMilliseconds(10));
            for (int at = 0; at < frame.Length; at += 16 * 1024)
            {
                await peer.SendAsync(frame.AsMemory(at, Math.Min(16 * 1024, frame.Length - at)));
                await pace.WaitForNextTickAsync(Token);
            }

            peer.Shutdown(SocketShutdown.Send);
            await peer.ReadToEndAsync();
        })).WaitAsync(Calls.Timeout, Token);
        Assert.Equal(20, server.Handler.FrameCount);
        Assert.Equal(0, server.Log.CountOf(1103));
    }

    [Fact]
    public async Task GivenAFrameThatComesBelowTheLeastRate_WhenAWindowIsOver_ThenTheConnectionIsClosed()
    {
        await using TestServer server = await TestServer.StartAsync(
            options: Options with { IdleTimeout = TimeSpan.FromSeconds(2), MinReceiveRate = 10_000 });
        byte[] frame = Calls.Frame(ScriptedHandler.Echo, FrameFlags.None, 1, new byte[100_000]);
        using Socket slow = await server.ConnectRawAsync();
        using Socket steady = await server.ConnectRawAsync();
        using var pace = new PeriodicTimer(TimeSpan.FromMilliseconds(20));
        await Assert.ThrowsAnyAsync<SocketException>(async () =>
        {
            for (int i = 0; ; i++)
            {
                // 50 bytes a second, and 50,000.
                await slow.SendAsync(frame.AsMemory(i, 1));
                await steady.SendAsync(frame.AsMemory(i * 1000 % frame.Length, 1000));
                await pace.WaitForNextTickAsync(Token);
            }
        });
        await Eventually.TrueAsync(() => server.Log.CountOf(1102) == 1);
        await steady.SendAsync(new byte[1]);
        await Eventually.TrueAsync(() => server.Server.ConnectionCount == 1);
    }

    [Fact]
    public void GivenMemoryFullOfLargeFrames_WhenSmallOnesCome_ThenTheyDoNotWait()
    {
        var budget = new ReceiveBudget(16 * MiB, TimeProvider.System);
        var share = new PeerShare(IPAddress.Loopback);
        while (budget.TryTake(share, MiB, isSmall: false)) { }
        Assert.Equal(15 * MiB, budget.UsedBytes);
        _ = budget.TakeAsync(share, MiB, isSmall: false, Token);
        Task<bool> waiting = budget.TakeAsync(share, MiB, isSmall: false, Token);
        Assert.False(waiting.IsCompleted);
        Assert.True(budget.TryTake(share, 32 * 1024, isSmall: true));
    }

    [Fact]
    public async Task GivenOneAddressElsewhere_WhenItTakesAllItCan_ThenOthersHaveHalfAndTakeTurnsInLine()
    {
        var budget = new ReceiveBudget(16 * MiB, TimeProvider.System);
        var hostile = new PeerShare(IPAddress.Parse("203.0.113.7"));
        var honest = new PeerShare(IPAddress.Parse("203.0.113.8"));
        while (budget.TryTake(hostile, MiB, isSmall: false)) { }
        Assert.InRange(budget.UsedBytes, 7 * MiB, 8 * MiB);

        // A hundred that wait already stand behind the first of another address.
        Task<bool>[] waiting =
            [.. Enumerable.Range(0, 100).Select(_ => budget.TakeAsync(hostile, MiB, isSmall: false, Token))];
        Assert.DoesNotContain(waiting, task => task.IsCompleted);
        Assert.False(await budget.TakeAsync(honest, MiB, isSmall: false, Token));
    }

    [Fact]
    public async Task GivenAFrameThatWaitsForMemory_WhenTimePasses_ThenItsOwnClockStandsStillAndGoesOn()
    {
        (Socket sender, Socket receiver) = await SocketPair.ConnectAsync();
        using Socket peer = sender;
        var time = new SteppedClock();
        var reader = new WireReader(new Wire(receiver, isForTls: false), 8192);
        var partial = new PartialFrame(reader, time);
        time.Step(TimeSpan.FromSeconds(100));
        partial.Note(isThere: true, isNew: true);
        time.Step(TimeSpan.FromSeconds(3));
        Assert.Equal(TimeSpan.FromSeconds(3), partial.Age);
        time.Step(TimeSpan.FromSeconds(60));
        partial.StandStill(TimeSpan.FromSeconds(60).Ticks);
        Assert.Equal(TimeSpan.FromSeconds(3), partial.Age);
        time.Step(TimeSpan.FromSeconds(4));
        Assert.Equal(TimeSpan.FromSeconds(7), partial.Age);
        reader.Complete();
        receiver.Dispose();
    }

    /// <summary>Frames of so many bytes, all but the last byte.</summary>
    private static async Task<List<Socket>> SendHalvesAsync(TestServer server, int bytes, int count)
    {
        byte[] frame = Calls.Frame(ScriptedHandler.Echo, FrameFlags.Oneway, 1, new byte[bytes]);
        var sockets = new List<Socket>();
        for (int i = 0; i < count; i++)
        {
            Socket peer = await server.ConnectRawAsync();
            sockets.Add(peer);
            _ = peer.SendAsync(frame.AsMemory(0, frame.Length - 1)).AsTask()
                .ContinueWith(static sent => sent.Exception, TaskScheduler.Default);
        }

        return sockets;
    }

    private sealed class SteppedClock : TimeProvider
    {
        private long _ticks;

        public override long TimestampFrequency => TimeSpan.TicksPerSecond;

        public override long GetTimestamp() => _ticks;

        public void Step(TimeSpan by) => _ticks += by.Ticks;
    }
}
