using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Sockets whose waits are the poller's; Linux alone.</summary>
public sealed class PolledSocketTests
{
    [Fact]
    public async Task GivenSmallBuffers_WhenBothEndsSendMuchAtOnce_ThenEveryByteComesBothWays()
    {
        (PolledSocket near, PolledSocket far) = await SocketPair.ConnectPolledAsync(bufferBytes: 64 * 1024);
        using (near)
        using (far)
        {
            byte[] there = Calls.Content(1, 20_000_000);
            byte[] back = Calls.Content(2, 20_000_000);
            Task<byte[]> atFar = ReadAsync(far, there.Length);
            Task<byte[]> atNear = ReadAsync(near, back.Length);
            await Task.WhenAll(SendAsync(near, there), SendAsync(far, back)).WaitAsync(Calls.Timeout);
            Assert.Equal(there, await atFar.WaitAsync(Calls.Timeout));
            Assert.Equal(back, await atNear.WaitAsync(Calls.Timeout));
        }
    }

    [Theory]
    [InlineData(0)]
    [InlineData(100)]
    public async Task GivenReceiveThatWaits_WhenThePeerEndsItsStream_ThenItSaysSo(int roomBytes)
    {
        (PolledSocket near, PolledSocket far) = await SocketPair.ConnectPolledAsync();
        using (near)
        {
            ValueTask<int> receiving = near.ReceiveAsync(new byte[roomBytes]);
            Assert.False(receiving.IsCompleted);
            far.Dispose();
            Assert.Equal(0, await receiving.AsTask().WaitAsync(Calls.Timeout));
            Assert.Equal(0, near.TryReceive(new byte[10]));
        }
    }

    [Fact]
    public async Task GivenReceiveThatWaits_WhenThePeerResets_ThenItFails()
    {
        (Socket near, Socket far) = await SocketPair.ConnectAsync();
        using var polled = new PolledSocket(near, SocketPoller.Shared!);
        ValueTask<int> receiving = polled.ReceiveAsync(new byte[10]);
        far.LingerState = new LingerOption(enable: true, seconds: 0);
        far.Dispose();
        SocketException reset = await Assert.ThrowsAsync<SocketException>(
            () => receiving.AsTask().WaitAsync(Calls.Timeout));
        Assert.Equal(SocketError.ConnectionReset, reset.SocketErrorCode);
        reset = Assert.Throws<SocketException>(() => SendUntilRefused(polled));
        Assert.Contains(reset.SocketErrorCode, new[] { SocketError.Shutdown, SocketError.ConnectionReset });
    }

    [Fact]
    public async Task GivenReceiveAndSendThatWait_WhenTheSocketIsClosed_ThenBothFailAndNothingCanBeBegun()
    {
        (PolledSocket near, PolledSocket far) = await SocketPair.ConnectPolledAsync(bufferBytes: 64 * 1024);
        using (far)
        {
            Task<int> receiving = near.ReceiveAsync(new byte[10]).AsTask();
            Task sending = SendAsync(near, new byte[30_000_000]);
            near.Dispose();
            near.Dispose();
            await Assert.ThrowsAsync<ObjectDisposedException>(() => receiving.WaitAsync(Calls.Timeout));
            await Assert.ThrowsAnyAsync<Exception>(() => sending.WaitAsync(Calls.Timeout));
            await Assert.ThrowsAsync<ObjectDisposedException>(() => near.ReceiveAsync(new byte[10]).AsTask());
            await Assert.ThrowsAsync<ObjectDisposedException>(() => near.ReceiveAsync(default).AsTask());
        }
    }

    [Fact]
    public async Task GivenReceiveThatWaits_WhenTheSocketIsClosed_ThenThePeerIsToldOfAReset()
    {
        (PolledSocket near, PolledSocket far) = await SocketPair.ConnectPolledAsync();
        using (far)
        {
            Task<int> receiving = near.ReceiveAsync(new byte[10]).AsTask();
            Task<int> atFar = far.ReceiveAsync(new byte[10]).AsTask();
            near.Dispose();
            await Assert.ThrowsAsync<ObjectDisposedException>(() => receiving.WaitAsync(Calls.Timeout));
            SocketException reset = await Assert.ThrowsAsync<SocketException>(() => atFar.WaitAsync(Calls.Timeout));
            Assert.Equal(SocketError.ConnectionReset, reset.SocketErrorCode);
        }
    }

    [Fact]
    public async Task GivenReceiveThatWaits_WhenSendingEndsBeforeTheSocketIsClosed_ThenThePeerGetsAllAndTheEnd()
    {
        (PolledSocket near, PolledSocket far) = await SocketPair.ConnectPolledAsync();
        using (far)
        {
            Task<int> receiving = near.ReceiveAsync(new byte[10]).AsTask();
            byte[] last = Calls.Content(1, 100_000);
            await SendAsync(near, last);
            near.EndSending();
            near.Dispose();
            await Assert.ThrowsAsync<ObjectDisposedException>(() => receiving.WaitAsync(Calls.Timeout));
            Assert.Equal(last, await ReadAsync(far, last.Length).WaitAsync(Calls.Timeout));
            Assert.Equal(0, await far.ReceiveAsync(new byte[10]).AsTask().WaitAsync(Calls.Timeout));
        }
    }

    [Fact]
    public async Task GivenTheThreadThatCameForOneSocket_WhenItBlocksOnAReceiveOfAnother_ThenThatReceiveEnds()
    {
        (PolledSocket near, PolledSocket far) = await SocketPair.ConnectPolledAsync();
        (PolledSocket otherNear, PolledSocket otherFar) = await SocketPair.ConnectPolledAsync();
        using (near)
        using (far)
        using (otherNear)
        using (otherFar)
        {
            Task<int> blocking = BlockAsync();
            await far.SendAsync(new byte[] { 1 });
            Assert.Equal(1, await blocking.WaitAsync(Calls.Timeout));

            async Task<int> BlockAsync()
            {
                await near.ReceiveAsync(new byte[10]).ConfigureAwait(false);
                Assert.True(PollerThread.IsCurrent);
                Task<int> other = otherNear.ReceiveAsync(new byte[10]).AsTask();
                await otherFar.SendAsync(new byte[] { 1 }).ConfigureAwait(false);
                return other.Wait(TimeSpan.FromSeconds(5)) ? other.Result : -1;
            }
        }
    }

    [Fact]
    public async Task GivenBytesOnTheirWay_WhenTheSocketIsClosedAtThatMoment_ThenEachWaitEndsOnce()
    {
        for (int i = 0; i < 500; i++)
        {
            (PolledSocket near, PolledSocket far) = await SocketPair.ConnectPolledAsync();
            Task<int> receiving = near.ReceiveAsync(new byte[10]).AsTask();
            var closing = Task.Run(near.Dispose);

            // The reset of a close that was sooner may have come.
            Exception? refusal = await Record.ExceptionAsync(() => far.SendAsync(new byte[] { 1 }).AsTask());
            if (refusal is not null)
                Assert.IsType<SocketException>(refusal);
            await Record.ExceptionAsync(() => receiving.WaitAsync(Calls.Timeout));
            Assert.True(receiving.IsCompleted);
            await closing;
            far.Dispose();
        }
    }

    [Fact]
    public async Task GivenManySocketsThatComeAndGo_WhenEachEchoes_ThenNobodyGetsAnothersEvents()
    {
        async Task EchoAsync(int seed)
        {
            for (int i = 0; i < 60; i++)
            {
                (PolledSocket near, PolledSocket far) = await SocketPair.ConnectPolledAsync();
                using (near)
                using (far)
                {
                    byte[] content = Calls.Content((seed * 1000) + i, 1 + (i * 100));
                    Task<byte[]> echo = ReadAsync(near, content.Length);
                    await SendAsync(near, content);
                    await SendAsync(far, await ReadAsync(far, content.Length));
                    Assert.Equal(content, await echo);
                }
            }
        }

        await Task.WhenAll(Enumerable.Range(0, 16).Select(seed => Task.Run(() => EchoAsync(seed))))
            .WaitAsync(Calls.Timeout);
    }

    [Fact]
    public async Task GivenNobodyListening_WhenConnected_ThenItIsRefused()
    {
        using var holder = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        holder.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        using PolledSocket socket = New(AddressFamily.InterNetwork);
        SocketException refused = await Assert.ThrowsAsync<SocketException>(
            () => socket.ConnectAsync(holder.LocalEndPoint!, CancellationToken.None).AsTask().WaitAsync(Calls.Timeout));
        Assert.Equal(SocketError.ConnectionRefused, refused.SocketErrorCode);
    }

    [Fact]
    public async Task GivenUnixSocketWhoseBacklogIsFull_WhenOneIsAccepted_ThenTheNextIsConnected()
    {
        using var directory = new TempDirectory();
        var path = new UnixDomainSocketEndPoint(directory["s"]);
        using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(path);
        listener.Listen(1);
        var sockets = new List<PolledSocket>();
        var connecting = new List<Task>();
        for (int i = 0; i < 8; i++)
        {
            sockets.Add(New(AddressFamily.Unix));
            connecting.Add(sockets[i].ConnectAsync(path, CancellationToken.None).AsTask());
        }

        Assert.Contains(connecting, one => !one.IsCompleted);
        for (int i = 0; i < 8; i++)
            (await listener.AcceptAsync().WaitAsync(Calls.Timeout)).Dispose();
        await Task.WhenAll(connecting).WaitAsync(Calls.Timeout);
        foreach (PolledSocket socket in sockets)
            socket.Dispose();
    }

    [Fact]
    public async Task GivenUnixSocketWhoseBacklogIsFull_WhenCancelled_ThenTheAttemptEnds()
    {
        using var directory = new TempDirectory();
        var path = new UnixDomainSocketEndPoint(directory["s"]);
        using var listener = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        listener.Bind(path);
        listener.Listen(1);
        var sockets = new List<PolledSocket>();
        Task last = Task.CompletedTask;
        using var cancel = new CancellationTokenSource();
        while (last.IsCompletedSuccessfully)
        {
            sockets.Add(New(AddressFamily.Unix));
            last = sockets[^1].ConnectAsync(path, cancel.Token).AsTask();
        }

        await cancel.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => last.WaitAsync(Calls.Timeout));
        foreach (PolledSocket socket in sockets)
            socket.Dispose();
    }

    private static PolledSocket New(AddressFamily family) => new(
        new Socket(family, SocketType.Stream, family == AddressFamily.Unix ? ProtocolType.Unspecified : ProtocolType.Tcp),
        SocketPoller.Shared!);

    private static async Task SendAsync(PolledSocket socket, ReadOnlyMemory<byte> bytes)
    {
        while (!bytes.IsEmpty)
            bytes = bytes[await socket.SendAsync(bytes)..];
    }

    private static async Task<byte[]> ReadAsync(PolledSocket socket, int count)
    {
        byte[] all = new byte[count];
        for (int at = 0; at < count;)
        {
            if (at % 3 == 0)
                await socket.ReceiveAsync(default);
            int received = await socket.ReceiveAsync(all.AsMemory(at));
            Assert.True(received > 0, "The stream ended early.");
            at += received;
        }

        return all;
    }

    private static void SendUntilRefused(PolledSocket socket)
    {
        while (true)
            socket.SendAsync(new byte[] { 1 }).AsTask().GetAwaiter().GetResult();
    }
}
