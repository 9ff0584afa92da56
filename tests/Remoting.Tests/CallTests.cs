using System.Collections.Concurrent;
using System.Net;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

public sealed class CallTests
{
    [Fact]
    public async Task GivenServer_WhenInvokedAsync_ThenEachAnswerBelongsToItsRequest()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        byte[][] contents = [.. Enumerable.Range(0, 2000).Select(i => Calls.Content(i, i % 3000))];
        byte[][] answers = await Task.WhenAll(contents.Select(content => client.EchoAsync(content)));
        Assert.Equal(contents, answers);
        Assert.Equal(0, client.InFlight);
    }

    [Fact]
    public async Task GivenAnswersOutOfOrder_WhenInvokedAsync_ThenEachAnswerBelongsToItsRequest()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        byte[][] contents = [.. Enumerable.Range(0, 500).Select(i => Calls.Content(i, 20 + i))];
        Task<byte[]>[] calls = [.. contents.Select(content => client.EchoAsync(content, ScriptedHandler.Hold))];
        await Eventually.TrueAsync(() => server.Handler.HeldCount == contents.Length, "all requests are held");
        server.Handler.Release();
        Assert.Equal(contents, await Task.WhenAll(calls));
    }

    [Fact]
    public async Task GivenThreads_WhenInvokedBlocking_ThenEachAnswerBelongsToItsRequest()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        var wrong = new ConcurrentQueue<int>();
        Thread[] threads = [.. Enumerable.Range(0, 4).Select(t => new Thread(() =>
        {
            for (int i = 0; i < 500; i++)
            {
                byte[] content = Calls.Content((t * 1000) + i, 1 + i);
                using ResponseFrame response =
                    client.Invoke(Calls.Buffer(content), ScriptedHandler.Echo, 1, Calls.Timeout);
                if (!response.Payload.Span.SequenceEqual(content))
                    wrong.Enqueue(i);
            }
        }))];
        foreach (Thread thread in threads)
            thread.Start();
        foreach (Thread thread in threads)
            thread.Join();
        Assert.Empty(wrong);
    }

    [Fact]
    public async Task GivenPoolThreads_WhenAllBlockInInvoke_ThenAllAreAnswered()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        int count = Environment.ProcessorCount * 3;
        int[] lengths = await Task.WhenAll(Enumerable.Range(1, count).Select(i => Task.Run(() =>
        {
            using ResponseFrame response =
                client.Invoke(Calls.Buffer(new byte[i]), ScriptedHandler.Echo, 1, Calls.Timeout);
            return response.Payload.Length;
        })));
        Assert.Equal(Enumerable.Range(1, count), lengths);
    }

    [Fact]
    public async Task GivenOneways_WhenSent_ThenTheyArriveInOrderAndAreNotAnswered()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        byte[][] contents = [.. Enumerable.Range(0, 3000).Select(i => Calls.Content(i, 1 + (i % 2000)))];
        foreach (byte[] content in contents)
            await client.SendOnewayAsync(Calls.Buffer(content), ScriptedHandler.Echo, 1, CancellationToken.None);
        await Eventually.TrueAsync(() => server.Handler.Oneways.Count == contents.Length, "all oneways have arrived");
        Assert.Equal(contents, server.Handler.Oneways);
    }

    [Fact]
    public async Task GivenSpansAmongBuffers_WhenSentOneway_ThenTheyArriveInOrderAndTheSpanIsFreeAtOnce()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        byte[][] contents = [.. Enumerable.Range(0, 3000).Select(i => Calls.Content(i, i % 50 == 0 ? 40_000 : i % 2000))];
        byte[] shared = new byte[40_000];
        for (int i = 0; i < contents.Length; i++)
        {
            contents[i].CopyTo(shared, 0);
            ValueTask sending = i % 3 == 0
                ? client.SendOnewayAsync(Calls.Buffer(contents[i]), ScriptedHandler.Echo, 1, CancellationToken.None)
                : client.SendOnewayAsync(
                    shared.AsSpan(0, contents[i].Length), ScriptedHandler.Echo, 1, CancellationToken.None);
            shared.AsSpan().Clear();
            await sending;
        }

        await Eventually.TrueAsync(() => server.Handler.Oneways.Count == contents.Length, "all oneways have arrived");
        Assert.Equal(contents, server.Handler.Oneways);
        Assert.Equal(0, client.QueuedBytes);
    }

    [Fact]
    public async Task GivenSpansAmongBuffers_WhenInvoked_ThenEachGetsItsAnswerAndTheSpanIsFreeAtOnce()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        byte[][] contents = [.. Enumerable.Range(0, 1500).Select(i => Calls.Content(i, i % 50 == 0 ? 40_000 : i % 2000))];
        byte[] shared = new byte[40_000];
        var calls = new ValueTask<ResponseFrame>[contents.Length];
        for (int i = 0; i < contents.Length; i++)
        {
            contents[i].CopyTo(shared, 0);
            calls[i] = i % 3 == 0
                ? client.InvokeAsync(
                    Calls.Buffer(contents[i]), ScriptedHandler.Echo, 1, Calls.Timeout, CancellationToken.None)
                : client.InvokeAsync(
                    shared.AsSpan(0, contents[i].Length), ScriptedHandler.Echo, 1, Calls.Timeout,
                    CancellationToken.None);
            shared.AsSpan().Clear();
        }

        for (int i = 0; i < contents.Length; i++)
        {
            using ResponseFrame answer = await calls[i];
            Assert.Equal(contents[i], answer.Payload.ToArray());
        }

        Assert.Equal((0, 0), (client.InFlight, client.QueuedBytes));
    }

    [Fact]
    public async Task GivenASpan_WhenItMayNotBeSent_ThenItIsRefusedLikeABuffer()
    {
        await using TestServer server = await TestServer.StartAsync();
        RemotingClient client = server.NewClient();
        await client.EchoAsync([1]);
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            async () => await client.SendOnewayAsync([1], FrameHeader.PingOpcode, 1, CancellationToken.None));
        RemotingException refusal = await Assert.ThrowsAsync<RemotingException>(
            async () => await client.SendOnewayAsync([1], ScriptedHandler.Echo, 1, new CancellationToken(true)));
        Assert.Equal(RemotingError.Cancelled, refusal.Error);
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            async () => await InvokeAsync(FrameHeader.PingOpcode, CancellationToken.None));
        refusal = await Assert.ThrowsAsync<RemotingException>(
            async () => await InvokeAsync(ScriptedHandler.Echo, new CancellationToken(true)));
        Assert.Equal(RemotingError.Cancelled, refusal.Error);
        await client.DisposeAsync();
        refusal = await Assert.ThrowsAsync<RemotingException>(
            async () => await client.SendOnewayAsync([1], ScriptedHandler.Echo, 1, CancellationToken.None));
        Assert.Equal(RemotingError.Disposed, refusal.Error);
        refusal = await Assert.ThrowsAsync<RemotingException>(
            async () => await InvokeAsync(ScriptedHandler.Echo, CancellationToken.None));
        Assert.Equal(RemotingError.Disposed, refusal.Error);
        Assert.Empty(server.Handler.Oneways);
        Assert.Equal(1, server.Handler.FrameCount);

        ValueTask<ResponseFrame> InvokeAsync(byte opcode, CancellationToken cancellationToken) =>
            client.InvokeAsync([1], opcode, 1, Calls.Timeout, cancellationToken);
    }

    [Fact]
    public async Task GivenCallbacks_WhenInvoked_ThenEachTokenIsToldOnce()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        var sink = new CountingSink();
        for (int i = 0; i < 1000; i++)
            client.Invoke(Calls.Buffer(new byte[i]), ScriptedHandler.Echo, 1, Calls.Timeout, sink, i, inlineAllowed: false);
        await Eventually.TrueAsync(() => sink.Outcomes.Count >= 1000, "all callbacks came");
        Assert.Equal(Enumerable.Range(0, 1000).Select(i => ((long)i, i)), sink.Outcomes.Order());
    }

    [Fact]
    public async Task GivenACallThatThePeerKeepsWaiting_WhenOthersMayBeSentInline_ThenTheyHaveLeftWhenTheirMethodReturns()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(1);
        await using var client = new RemotingClient(
            listener.LocalEndPoint!, new RemotingClientOptions(), new CollectedLog());
        Task waiting = client.WaitConnectedAsync(CancellationToken.None).AsTask();
        using Socket peer = await listener.AcceptAsync();
        await waiting.WaitAsync(Calls.Timeout);
        var sink = new CountingSink();
        byte[] frame = new byte[FrameHeader.Size + 1];
        int arrived = 0;
        for (int i = 0; i < 500; i++)
        {
            client.Invoke(Calls.Buffer([1]), 1, 1, Calls.Timeout, sink, i, inlineAllowed: true);
            if (peer.Available == frame.Length)
                arrived++;
            for (int at = 0; at < frame.Length;)
                at += await peer.ReceiveAsync(frame.AsMemory(at));
        }

        // The system itself may take a moment, now and then.
        Assert.InRange(arrived, 400, 500);
    }

    [Fact]
    public async Task GivenFirstCallerWithContext_WhenLoopsAndHandlersRun_ThenTheyDoNotRunInIt()
    {
        var context = new AsyncLocal<string?> { Value = "the first caller's" };
        var seen = new ConcurrentQueue<string?>();
        var handler = new ScriptedHandler
        {
            OnCustom = (connection, header, payload) =>
            {
                seen.Enqueue(context.Value);
                ScriptedHandler.Answer(connection, header, payload.Span, inline: true);
                return ValueTask.CompletedTask;
            },
        };
        await using TestServer server = await TestServer.StartAsync(handler);
        await using RemotingClient client = server.NewClient(new RemotingClientOptions
        {
            HandshakeAsync = (_, _) =>
            {
                seen.Enqueue(context.Value);
                return ValueTask.CompletedTask;
            },
        });
        await client.EchoAsync([1], ScriptedHandler.Custom);
        Assert.Equal([null, null], seen);
        Assert.Equal("the first caller's", context.Value);
    }

    [Fact]
    public async Task GivenSinkThatThrows_WhenItsCallEnds_ThenOtherCallsGoOn()
    {
        await using TestServer server = await TestServer.StartAsync();
        var log = new CollectedLog();
        await using var client = new RemotingClient(server.EndPoint, new RemotingClientOptions(), log);
        client.Invoke(Calls.Buffer([1]), ScriptedHandler.Echo, 1, Calls.Timeout, new ThrowingSink(), 1, inlineAllowed: false);
        Assert.Equal([2], await client.EchoAsync([2]));
        await Eventually.TrueAsync(() => log.CountOf(1025) == 1, "the sink's exception is logged");
        Assert.True(client.IsConnected);
    }

    [Fact]
    public async Task GivenLargeFrames_WhenEchoed_ThenEveryByteComesBack()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        byte[] largest = Calls.Content(1, (16 * 1024 * 1024) - FrameHeader.Size);
        byte[][] contents = [Calls.Content(2, 3_000_000), [1], largest, [], Calls.Content(3, 300_000)];
        byte[][] answers = await Task.WhenAll(contents.Select(content => client.EchoAsync(content)));
        Assert.All(answers.Zip(contents), pair => Assert.True(pair.First.AsSpan().SequenceEqual(pair.Second)));
    }

    [Fact]
    public async Task GivenFrameAboveTheMaximum_WhenSentInAnyMode_ThenItIsRefusedAndNothingIsSent()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient(new RemotingClientOptions { MaxFrameBytes = 1000 });
        byte[] tooLarge = new byte[1000 - FrameHeader.Size + 1];
        Assert.Equal(1000 - FrameHeader.Size, (await client.EchoAsync(new byte[1000 - FrameHeader.Size])).Length);
        RemotingException[] refusals =
        [
            await Assert.ThrowsAsync<RemotingException>(async () => await client.EchoAsync(tooLarge)),
            await Assert.ThrowsAsync<RemotingException>(
                async () => await client.SendOnewayAsync(Calls.Buffer(tooLarge), 1, 1, CancellationToken.None)),
            await Assert.ThrowsAsync<RemotingException>(
                async () => await client.SendOnewayAsync(tooLarge.AsSpan(), 1, 1, CancellationToken.None)),
            Assert.Throws<RemotingException>(() => client.Invoke(Calls.Buffer(tooLarge), 1, 1, Calls.Timeout).Dispose()),
        ];
        Assert.All(refusals, refusal => Assert.Equal(RemotingError.TooLarge, refusal.Error));
        var sink = new CountingSink();
        client.Invoke(Calls.Buffer(tooLarge), 1, 1, Calls.Timeout, sink, 5, inlineAllowed: false);
        Assert.Equal((5, RemotingError.TooLarge), sink.Failures.Single());
        Assert.Equal(1, server.Handler.FrameCount);
    }

    [Fact]
    public async Task GivenValueTaskAwaitedTwice_WhenOtherCallsFollow_ThenTheSecondAwaitThrowsAndTheyAreIntact()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        await client.WaitConnectedAsync(CancellationToken.None);
        ValueTask<ResponseFrame> call =
            client.InvokeAsync(Calls.Buffer([1]), ScriptedHandler.Echo, 1, Calls.Timeout, CancellationToken.None);
        ValueTask<ResponseFrame> again = call;
        (await call).Dispose();
        await Assert.ThrowsAsync<InvalidOperationException>(async () => (await again).Dispose());
        for (int i = 0; i < 600; i++)
            Assert.Equal([(byte)i], await client.EchoAsync([(byte)i]));
    }

    [Fact]
    public async Task GivenCallsThatNobodyAwaits_WhenTheRingGoesRound_ThenNoneOfItsSlotsIsLost()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient(new RemotingClientOptions { MaxInFlight = 4 });
        await client.WaitConnectedAsync(CancellationToken.None);
        for (int i = 0; i < 100; i++)
        {
            Forget(client.InvokeAsync(Calls.Buffer([1]), ScriptedHandler.Echo, 1, Calls.Timeout, CancellationToken.None));
            Assert.Equal([2], await client.EchoAsync([2]));
        }
    }

#if !DEBUG // Without optimization every async method allocates.
    [Fact]
    public async Task GivenWarmClient_WhenInvokedBlocking_ThenTheCallAllocatesNothing()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        long allocated = long.MaxValue;
        var thread = new Thread(() =>
        {
            byte[] content = new byte[100];
            for (int round = 0; round < 2; round++)
            {
                long before = GC.GetAllocatedBytesForCurrentThread();
                for (int i = 0; i < 1000; i++)
                    client.Invoke(Calls.Buffer(content), ScriptedHandler.Echo, 1, Calls.Timeout).Dispose();
                allocated = GC.GetAllocatedBytesForCurrentThread() - before;
            }
        });
        thread.Start();
        thread.Join();
        Assert.InRange(allocated, 0, 20_000);
    }
#endif

    private static void Forget(ValueTask<ResponseFrame> call) => Assert.False(call.IsFaulted);

    internal sealed class CountingSink : IResponseSink
    {
        public ConcurrentQueue<(long Token, int Bytes)> Outcomes { get; } = new();

        public ConcurrentQueue<(long Token, RemotingError Error)> Failures { get; } = new();

        public void OnResponse(long token, ResponseFrame response)
        {
            Outcomes.Enqueue((token, response.Payload.Length));
            response.Dispose();
        }

        public void OnFailure(long token, RemotingException exception) => Failures.Enqueue((token, exception.Error));
    }

    private sealed class ThrowingSink : IResponseSink
    {
        public void OnResponse(long token, ResponseFrame response)
        {
            response.Dispose();
            throw new InvalidOperationException("A sink must not do this.");
        }

        public void OnFailure(long token, RemotingException exception)
        {
        }
    }
}
