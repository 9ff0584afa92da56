using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>The memory of receive blocks, by itself and under connections that would take more than there is.</summary>
public sealed class ReceiveBudgetTests
{
    private const int MiB = 1 << 20;

    private static PeerShare Local { get; } = new(null);

    [Fact]
    public async Task GivenAFullBudget_WhenManyWait_ThenOneGoesBeyondAndTheOthersComeInTheirOrder()
    {
        ReceiveBudget budget = NewBudget(100);
        Assert.True(budget.TryTake(Local, 90, isSmall: true));
        Task<bool> first = Take(budget, 50), second = Take(budget, 60), third = Take(budget, 5);
        Assert.True(await first);
        Assert.False(second.IsCompleted || third.IsCompleted);
        Assert.False(budget.TryTake(Local, 1, isSmall: true));
        Assert.Equal((140, 2), (budget.UsedBytes, budget.WaitingCount));
        budget.Give(Local, 50, isSmall: true, isBeyond: true);
        Assert.True(await second);
        budget.Give(Local, 90, isSmall: true, isBeyond: false);
        Assert.False(await third);
        budget.Give(Local, 60, isSmall: true, isBeyond: true);
        budget.Give(Local, 5, isSmall: true, isBeyond: false);
        Assert.Equal((0, 0), (budget.UsedBytes, budget.WaitingCount));
    }

    [Fact]
    public async Task GivenWaiters_WhenTheirConnectionsClose_ThenTheyLeaveTheLineAndOthersGoOn()
    {
        ReceiveBudget budget = NewBudget(100);
        using var closed = new CancellationTokenSource();
        Assert.True(budget.TryTake(Local, 100, isSmall: true));
        Assert.True(await Take(budget, 10));
        Task<bool> gone = budget.TakeAsync(Local, 1_000, isSmall: true, closed.Token), next = Take(budget, 100);
        await closed.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => gone);
        budget.Give(Local, 100, isSmall: true, isBeyond: false);
        Assert.False(next.IsCompleted);
        budget.Give(Local, 10, isSmall: true, isBeyond: true);
        Assert.False(await next);
        Assert.Equal(100, budget.UsedBytes);
    }

    [Fact]
    public async Task GivenManyThreads_WhenTheyTakeAndGive_ThenTheBoundHoldsAndAllComeToTheEnd()
    {
        ReceiveBudget budget = NewBudget(1_000);
        long most = 0;
        await Task.WhenAll(Enumerable.Range(0, 16).Select(seed => Task.Run(async () =>
        {
            var random = new Random(seed);
            for (int i = 0; i < 2_000; i++)
            {
                int bytes = random.Next(1, 700);
                bool isBeyond = !budget.TryTake(Local, bytes, isSmall: true) && await Take(budget, bytes);
                InterlockedMax(ref most, budget.UsedBytes);
                if (random.Next(8) == 0)
                    await Task.Yield();
                budget.Give(Local, bytes, isSmall: true, isBeyond);
            }
        }))).WaitAsync(Calls.Timeout, TestContext.Current.CancellationToken);
        Assert.Equal((0, 0), (budget.UsedBytes, budget.WaitingCount));
        Assert.InRange(most, 1, 1_700);
    }

    [Fact]
    public async Task GivenManyLargeFramesInPart_WhenTheyWouldTakeMoreThanThereIs_ThenTheBoundHoldsAndAllAreHandled()
    {
        const int peers = 60, frameBytes = 512 * 1024;
        await using TestServer server = await TestServer.StartAsync(
            options: new RemotingServerOptions { MaxFrameBytes = MiB, ReceiveMemoryBytes = MiB, MinReceiveRate = 0 });
        byte[] frame = Calls.Frame(ScriptedHandler.Echo, FrameFlags.Oneway, 1, new byte[frameBytes - FrameHeader.Size]);
        var sockets = new List<Socket>();
        try
        {
            for (int i = 0; i < peers; i++)
            {
                Socket peer = await server.ConnectRawAsync();
                sockets.Add(peer);
                await peer.SendAsync(frame.AsMemory(0, 20_000));
            }

            await Eventually.TrueAsync(() => server.Server.ReceiveBytes > MiB / 2);
            await using RemotingClient other = server.NewClient();
            for (int i = 0; i < 20; i++)
            {
                Assert.Equal([(byte)i], await other.EchoAsync([(byte)i]));
                Assert.InRange(server.Server.ReceiveBytes, 0, MiB + frameBytes);
            }

            Assert.Equal(20, server.Handler.FrameCount);
            await Task.WhenAll(sockets.Select(peer => peer.SendAsync(frame.AsMemory(20_000)).AsTask()))
                .WaitAsync(Calls.Timeout, TestContext.Current.CancellationToken);
            await Eventually.TrueAsync(() => server.Handler.FrameCount == 20 + peers);
            await Eventually.TrueAsync(() => server.Server.ReceiveBytes == 0);
        }
        finally
        {
            foreach (Socket peer in sockets)
                peer.Dispose();
        }
    }

    [Fact]
    public async Task GivenPeersThatWaitForMemory_WhenTheyGo_ThenNothingIsHeldForThem()
    {
        await using TestServer server = await TestServer.StartAsync(
            options: new RemotingServerOptions { MaxFrameBytes = MiB, ReceiveMemoryBytes = MiB });
        byte[] frame = Calls.Frame(ScriptedHandler.Echo, FrameFlags.Oneway, 1, new byte[MiB - FrameHeader.Size]);
        var sockets = new List<Socket>();
        for (int i = 0; i < 10; i++)
        {
            sockets.Add(await server.ConnectRawAsync());
            await sockets[i].SendAsync(frame.AsMemory(0, 400_000));
        }

        await Eventually.TrueAsync(() => server.Server.ReceiveBytes > MiB / 2);
        foreach (Socket peer in sockets)
            peer.Dispose();
        await Eventually.TrueAsync(() => server.Server.ConnectionCount == 0);
        Assert.Equal(0, server.Server.ReceiveBytes);
    }

    [Fact]
    public async Task GivenAFrameThatComesByteByByte_WhenItIsNotWholeInTime_ThenTheConnectionIsClosed()
    {
        await using TestServer server = await TestServer.StartAsync(
            options: new RemotingServerOptions { IdleTimeout = TimeSpan.FromMilliseconds(400), MinReceiveRate = 0 });
        using Socket peer = await server.ConnectRawAsync();
        byte[] frame = Calls.Frame(ScriptedHandler.Echo, FrameFlags.None, 1, new byte[100_000]);
        using var pace = new PeriodicTimer(TimeSpan.FromMilliseconds(20));
        await Assert.ThrowsAnyAsync<SocketException>(async () =>
        {
            for (int i = 0; i < frame.Length; i++)
            {
                await peer.SendAsync(frame.AsMemory(i, 1));
                await pace.WaitForNextTickAsync(TestContext.Current.CancellationToken);
            }
        });
        await Eventually.TrueAsync(() => server.Log.CountOf(1010) == 1);
        Assert.Equal(0, server.Handler.FrameCount);
    }

    private static ReceiveBudget NewBudget(long maxBytes) => new(maxBytes, TimeProvider.System);

    private static Task<bool> Take(ReceiveBudget budget, int bytes) =>
        budget.TakeAsync(Local, bytes, isSmall: true, CancellationToken.None);

    private static void InterlockedMax(ref long target, long value)
    {
        long seen = Volatile.Read(ref target);
        while (value > seen)
        {
            long found = Interlocked.CompareExchange(ref target, value, seen);
            if (found == seen)
                return;
            seen = found;
        }
    }
}
