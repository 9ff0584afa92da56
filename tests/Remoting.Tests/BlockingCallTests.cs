using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Calls that block their thread, beside those that do not.</summary>
public sealed class BlockingCallTests
{
    [Fact]
    public async Task GivenACallerThatBlocks_WhenOthersCallInEveryWayMeanwhile_ThenAllAreAnswered()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        using var stop = new CancellationTokenSource();
        Task<int> caller = OwnThread.Run(() =>
        {
            int count = 0;
            for (; !stop.IsCancellationRequested; count++)
                Echo(client, Calls.Content(count, 1 + (count % 5000)));
            return count;
        });
        Task<int> second = OwnThread.Run(() =>
        {
            int count = 0;
            for (; !stop.IsCancellationRequested; count += 7)
            {
                Echo(client, Calls.Content(count, 40));
                Thread.SpinWait(count % 4000);
            }

            return count;
        });
        for (int i = 0; i < 400; i++)
        {
            byte[] content = Calls.Content(i, 1 + (i * 50));
            Assert.Equal(content, await client.EchoAsync(content).WaitAsync(Calls.Timeout));
            if (i % 100 == 0)
                await Task.Yield();
        }

        await stop.CancelAsync();
        Assert.True(await caller > 0);
        Assert.True(await second > 0);
        Assert.Equal(0, client.InFlight);
    }

    [Fact]
    public async Task GivenAnswersInPieces_WhenTheCallerBlocks_ThenEveryByteIsThere()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        await OwnThread.Run(() =>
        {
            for (int i = 0; i < 60; i++)
                Echo(client, Calls.Content(i, i % 3 == 0 ? 3_000_000 : 1 + i));
            return 0;
        });
    }

    [Fact]
    public async Task GivenACallerThatWasInterrupted_WhenItsAnswerComesLate_ThenItsNextCallGetsItsOwn()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        Thread? thread = null;
        Task<int> caller = OwnThread.Run(() =>
        {
            Volatile.Write(ref thread, Thread.CurrentThread);
            Echo(client, [1]);
            Assert.Throws<ThreadInterruptedException>(
                () => client.Invoke(Calls.Buffer([1]), ScriptedHandler.Hold, 1, TimeSpan.FromMinutes(5)));
            server.Handler.Release();
            Assert.True(SpinWait.SpinUntil(() => client.InFlight == 0, Calls.Timeout));
            for (int i = 0; i < 100; i++)
                Echo(client, Calls.Content(i, 10));
            return client.InFlight;
        });
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 1);
        thread!.Interrupt();
        Assert.Equal(0, await caller.WaitAsync(Calls.Timeout));
    }

    [Fact]
    public async Task GivenACallerThatBlocks_WhenTheServerCloses_ThenTheCallFailsAtOnceAndTheNextGoesOn()
    {
        var handler = new ScriptedHandler
        {
            OnCustom = static (connection, _, _) =>
            {
                connection.Close(null);
                return ValueTask.CompletedTask;
            },
        };
        await using TestServer server = await TestServer.StartAsync(handler);
        await using RemotingClient client = server.NewClient();
        await OwnThread.Run(() =>
        {
            for (int i = 0; i < 5; i++)
            {
                for (int j = 0; j < 20; j++)
                    Echo(client, [1, 2, 3]);
                RemotingException lost = Assert.Throws<RemotingException>(() =>
                    client.Invoke(Calls.Buffer([1]), ScriptedHandler.Custom, 1, TimeSpan.FromMinutes(5)));
                Assert.Equal(RemotingError.ConnectionLost, lost.Error);
            }

            return 0;
        }).WaitAsync(Calls.Timeout);
        Assert.Equal(5, client.ConnectionGeneration);
    }

    [Fact]
    public async Task GivenACallerThatBlocks_WhenNoAnswerComes_ThenItTimesOutAndOthersAnswersAreNotLost()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        Task<byte[]>? held = null;
        await OwnThread.Run(() =>
        {
            for (int i = 0; i < 20; i++)
                Echo(client, [1]);
            RemotingException late = Assert.Throws<RemotingException>(() =>
                client.Invoke(Calls.Buffer([1]), ScriptedHandler.Hold, 1, TimeSpan.FromMilliseconds(200)));
            Assert.Equal(RemotingError.Timeout, late.Error);
            Echo(client, [2]);
            held = client.EchoAsync([3], ScriptedHandler.Hold);
            return 0;
        }).WaitAsync(Calls.Timeout);
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 2, "both are held");
        server.Handler.Release();
        Assert.Equal([3], await held!.WaitAsync(Calls.Timeout));
    }

    [Fact]
    public async Task GivenNoFurtherCall_WhenTheServerGoes_ThenTheClientNoticesAndIsConnectedAgain()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        await OwnThread.Run(() =>
        {
            for (int i = 0; i < 20; i++)
                Echo(client, [1]);
            return 0;
        });
        Assert.True(server.Handler.Connected.TryDequeue(out FrameConnection? connection));
        connection.Close(null);
        await Eventually.TrueAsync(() => client.ConnectionGeneration == 2, "connected again without a call");
    }

    [Fact]
    public async Task GivenACallerThatBlocks_WhenTheClientIsDisposed_ThenTheCallFails()
    {
        await using TestServer server = await TestServer.StartAsync();
        RemotingClient client = server.NewClient();
        Task<RemotingError> caller = OwnThread.Run(() =>
        {
            for (int i = 0; i < 20; i++)
                Echo(client, [1]);
            return Assert.Throws<RemotingException>(() =>
                client.Invoke(Calls.Buffer([1]), ScriptedHandler.Hold, 1, TimeSpan.FromMinutes(5))).Error;
        });
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 1, "the call is held");
        await client.DisposeAsync();
        Assert.Equal(RemotingError.Disposed, await caller.WaitAsync(Calls.Timeout));
    }

    private static void Echo(RemotingClient client, byte[] content)
    {
        using ResponseFrame response =
            client.Invoke(Calls.Buffer(content), ScriptedHandler.Echo, 1, Calls.Timeout);
        Assert.True(response.Payload.Span.SequenceEqual(content), $"The answer to {content.Length} bytes is another's.");
    }
}
