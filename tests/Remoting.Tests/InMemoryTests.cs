using System.Net.Sockets;
using EQueue.Support;
using Microsoft.Extensions.Logging;

namespace EQueue.Remoting.Tests;

/// <summary>Connections in memory: the same calls, the same bounds, and the manners of sockets.</summary>
public sealed class InMemoryTests : IAsyncDisposable
{
    private readonly InMemoryEndPoint _endPoint = new();
    private readonly CollectedLog _log = new();
    private RemotingServer? _server;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenInMemory_WhenFramesOfAllSizesAreEchoed_ThenTheyComeBackAsTheyWere()
    {
        await StartAsync();
        await using RemotingClient client = NewClient();
        foreach (int bytes in (int[])[0, 1, 4096, 300_000, (16 << 20) - FrameHeader.Size])
        {
            byte[] content = Calls.Content(bytes, bytes);
            byte[] answer = await client.EchoAsync(content);
            Assert.True(content.AsSpan().SequenceEqual(answer), $"{bytes} bytes");
        }

        Task<byte[]>[] many = [.. Enumerable.Range(0, 5_000).Select(i => client.EchoAsync(Calls.Content(i, i % 700)))];
        byte[][] answers = await Task.WhenAll(many);
        for (int i = 0; i < answers.Length; i++)
            Assert.Equal(Calls.Content(i, i % 700), answers[i]);
        Assert.Same(_endPoint, _server!.LocalEndPoint);
        Assert.DoesNotContain(_log.Lines, line => line.Level >= LogLevel.Warning);
    }

    [Fact]
    public async Task GivenInMemoryAndTcp_WhenBothAreUsed_ThenBothAreServed()
    {
        await StartAsync(new RemotingServerOptions { InMemory = _endPoint });
        await using RemotingClient near = NewClient();
        await using var far = new RemotingClient(_server!.LocalEndPoint, new RemotingClientOptions(), _log);
        Assert.Equal([1], await near.EchoAsync([1]));
        Assert.Equal([2], await far.EchoAsync([2]));
    }

    [Fact]
    public async Task GivenServerThatGoesAndAnotherThatComes_WhenTheClientCallsOn_ThenItReconnects()
    {
        await using RemotingClient client = NewClient();
        for (byte i = 1; i <= 3; i++)
        {
            await StartAsync();
            await Eventually.TrueAsync(async () =>
            {
                try
                {
                    return (await client.EchoAsync([i]))[0] == i;
                }
                catch (RemotingException exception) when (exception.Error == RemotingError.ConnectionLost)
                {
                    return false;
                }
            });
            await _server!.DisposeAsync();
        }
    }

    [Fact]
    public async Task GivenNobodyOrAnotherServer_WhenConnectedOrListened_ThenItIsAsWithSockets()
    {
        await using RemotingClient client = NewClient();
        RemotingException failure = await Assert.ThrowsAsync<RemotingException>(async () => (await client.InvokeAsync(
            Calls.Buffer([]), 1, 1, TimeSpan.FromMilliseconds(300), CancellationToken.None)).Dispose());
        Assert.Equal(RemotingError.Unreachable, failure.Error);
        Assert.Equal(
            SocketError.ConnectionRefused, Assert.IsType<SocketException>(failure.InnerException).SocketErrorCode);
        await StartAsync();
        await using var second = new RemotingServer(Options, new ScriptedHandler(), _log);
        SocketException refused = await Assert.ThrowsAsync<SocketException>(() => second.StartAsync(Token));
        Assert.Equal(SocketError.AddressAlreadyInUse, refused.SocketErrorCode);
        Assert.Equal([1], await client.EchoAsync([1]));
    }

    [Fact]
    public async Task GivenAllConnectionsInUse_WhenAnotherComes_ThenItIsClosed()
    {
        await StartAsync(Options with { MaxConnections = 1 });
        await using RemotingClient first = NewClient();
        await first.EchoAsync([1]);
        InMemoryStream refused = _endPoint.Connect();
        Assert.Equal(0, await ReadAsync(refused, new byte[1]));
        Assert.Equal(1, _log.CountOf(1003));
    }

    [Fact]
    public async Task GivenPeerThatReadsNothing_WhenItsAnswersPileUp_ThenTheyAreBoundedAndItIsCut()
    {
        var handler = new ScriptedHandler();
        await StartAsync(
            Options with { MaxQueuedSendBytes = 256 * 1024, SendTimeout = TimeSpan.FromMilliseconds(500) }, handler);
        InMemoryStream slow = _endPoint.Connect();
        byte[] request = Calls.Frame(ScriptedHandler.Echo, FrameFlags.None, 1, new byte[64 * 1024]);
        IOException cut = await Assert.ThrowsAsync<IOException>(async () =>
        {
            for (int i = 0; i < 1_000; i++)
                await slow.WriteAsync(request);
        }).WaitAsync(Calls.Timeout, Token);
        Assert.IsType<SocketException>(cut.InnerException);
        await Eventually.TrueAsync(() => !handler.Disconnected.IsEmpty);
        Assert.Equal(1, _log.CountOf(1006));
        Assert.InRange(handler.FrameCount, 1, 30);
    }

    [Fact]
    public async Task GivenOneDirectionEnded_WhenTheOtherIsUsed_ThenItGoesOn()
    {
        var handler = new ScriptedHandler();
        await StartAsync(Options, handler);
        InMemoryStream peer = _endPoint.Connect();
        byte[] frame = Calls.Frame(ScriptedHandler.Echo, FrameFlags.None, 1, Calls.Content(1, 100_000));
        await peer.WriteAsync(frame);
        peer.EndSending();
        byte[] answer = new byte[frame.Length];
        for (int read = 0; read < answer.Length;)
        {
            int count = await ReadAsync(peer, answer.AsMemory(read));
            Assert.True(count > 0);
            read += count;
        }

        Assert.Equal(0, await ReadAsync(peer, new byte[1]));
        await Eventually.TrueAsync(() => !handler.Disconnected.IsEmpty);
        Assert.Null(handler.Disconnected.Single().Cause);
        await Assert.ThrowsAsync<IOException>(async () => await peer.WriteAsync(frame));
    }

    [Fact]
    public async Task GivenRequestsBeingHandled_WhenStoppedWithDrain_ThenTheyAreAnsweredAndTheStreamEndsInOrder()
    {
        var handler = new ScriptedHandler();
        await StartAsync(Options, handler);
        await using RemotingClient client = NewClient();
        byte[][] contents = [.. Enumerable.Range(0, 20).Select(i => Calls.Content(i, 200_000))];
        Task<byte[]>[] calls = [.. contents.Select(content => client.EchoAsync(content, ScriptedHandler.Hold))];
        await Eventually.TrueAsync(() => handler.HeldCount == 20);
        Task stopping = _server!.StopAsync(TimeSpan.FromSeconds(20), CancellationToken.None);
        handler.Release();
        byte[][] answers = await Task.WhenAll(calls);
        Assert.All(answers.Zip(contents), pair => Assert.True(pair.First.AsSpan().SequenceEqual(pair.Second)));
        await stopping;
        Assert.Null(handler.Disconnected.Single().Cause);
    }

    [Fact]
    public async Task GivenEndThatIsClosed_WhenTheOtherReads_ThenItGetsWhatWasWrittenOrAReset()
    {
        (InMemoryStream near, InMemoryStream far) = InMemoryStream.CreatePair();
        await near.WriteAsync(new byte[] { 1, 2, 3 });
        near.Abort();
        Assert.Equal(3, await ReadAsync(far, new byte[10]));
        Assert.Equal(0, await ReadAsync(far, new byte[10]));
        await Assert.ThrowsAsync<IOException>(async () => await far.WriteAsync(new byte[1]));

        (near, far) = InMemoryStream.CreatePair();
        await near.WriteAsync(new byte[] { 1, 2, 3 });
        await far.WriteAsync(new byte[] { 4 });
        near.Abort();
        IOException reset = await Assert.ThrowsAsync<IOException>(() => ReadAsync(far, new byte[10]));
        Assert.Equal(
            SocketError.ConnectionReset, Assert.IsType<SocketException>(reset.InnerException).SocketErrorCode);
    }

    [Fact]
    public async Task GivenOperationsUnderWay_WhenTheirEndIsClosed_ThenTheyEndWithAnException()
    {
        (InMemoryStream near, InMemoryStream far) = InMemoryStream.CreatePair();
        Task<int> reading = ReadAsync(near, new byte[1]);
        Task writing = near.WriteAsync(new byte[InMemoryFlow.CapacityBytes + 1]).AsTask();
        Assert.False(reading.IsCompleted || writing.IsCompleted);
        near.Abort();
        await Assert.ThrowsAsync<IOException>(() => reading);
        await Assert.ThrowsAsync<IOException>(() => writing);
        Assert.Equal(10, await ReadAsync(far, new byte[10]));
    }

    [Fact]
    public async Task GivenRandomPieces_WhenTheyFlow_ThenTheBytesStayInOrderAndNeverMoreThanTheBoundIsAhead()
    {
        const int Seed = 4711, Total = 3_000_000;
        byte[] content = Calls.Content(Seed, Total);
        (InMemoryStream near, InMemoryStream far) = InMemoryStream.CreatePair();
        long written = 0, seen = 0;
        var writing = Task.Run(async () =>
        {
            var random = new Random(Seed);
            for (int at = 0; at < Total;)
            {
                int count = Math.Min(random.Next(1, 100_000), Total - at);
                await near.WriteAsync(content.AsMemory(at, count));
                at += count;
                Volatile.Write(ref written, at);
            }

            near.EndSending();
        });
        var pace = new Random(Seed);
        byte[] buffer = new byte[70_000];
        while (await ReadAsync(far, buffer.AsMemory(0, pace.Next(1, buffer.Length))) is > 0 and int count)
        {
            Assert.True(
                buffer.AsSpan(0, count).SequenceEqual(content.AsSpan((int)seen, count)), $"at {seen}, seed {Seed}");
            Assert.True(Volatile.Read(ref written) - seen <= InMemoryFlow.CapacityBytes + count);
            seen += count;
        }

        await writing;
        Assert.Equal(Total, seen);
    }

    public async ValueTask DisposeAsync()
    {
        if (_server is not null)
            await _server.DisposeAsync();
    }

    private RemotingServerOptions Options => new() { Listen = [], InMemory = _endPoint };

    private static Task<int> ReadAsync(InMemoryStream stream, Memory<byte> into) =>
        stream.ReadAsync(into, Token).AsTask().WaitAsync(Calls.Timeout, Token);

    private async Task StartAsync(RemotingServerOptions? options = null, ScriptedHandler? handler = null)
    {
        _server = new RemotingServer(options ?? Options, handler ?? new ScriptedHandler(), _log);
        await _server.StartAsync(Token);
    }

    private RemotingClient NewClient() => new(_endPoint, new RemotingClientOptions(), new CollectedLog());
}
