using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Handlers that keep the thread of their receive loop, which they should not.</summary>
public sealed class BlockingHandlerTests
{
    [Fact]
    public async Task GivenHandlersThatBlockOnManyConnections_WhenAnotherCalls_ThenItIsAnswered()
    {
        using var open = new ManualResetEventSlim();
        var handler = new ScriptedHandler
        {
            OnCustom = (connection, header, payload) =>
            {
                open.Wait();
                ScriptedHandler.Answer(connection, header, payload.Span, inline: true);
                return ValueTask.CompletedTask;
            },
        };
        await using TestServer server = await TestServer.StartAsync(handler);
        var clients = new List<RemotingClient>();
        var blocked = new List<Task<byte[]>>();
        try
        {
            for (int i = 0; i < Environment.ProcessorCount + 4; i++)
            {
                clients.Add(server.NewClient());
                await clients[i].EchoAsync([1]);
                blocked.Add(clients[i].EchoAsync([(byte)i], ScriptedHandler.Custom));
                await Eventually.TrueAsync(() => handler.FrameCount == (i + 1) * 2, "it blocks");
            }

            await using RemotingClient other = server.NewClient();
            Assert.Equal([7], await other.EchoAsync([7]).WaitAsync(Calls.Timeout));
            Assert.DoesNotContain(blocked, call => call.IsCompleted);
        }
        finally
        {
            open.Set();
        }

        for (int i = 0; i < blocked.Count; i++)
            Assert.Equal([(byte)i], await blocked[i].WaitAsync(Calls.Timeout));
        foreach (RemotingClient client in clients)
            await client.DisposeAsync();
    }

    [Fact]
    public async Task GivenHandlerThatCallsSomebodyElseAndBlocks_WhenTheConnectionIsNewEachTime_ThenItIsAnswered()
    {
        await using TestServer other = await TestServer.StartAsync();
        var handler = new ScriptedHandler
        {
            OnCustom = (connection, header, payload) =>
            {
                RemotingClient client = other.NewClient();
                for (int i = 0; i < 3; i++)
                {
                    using ResponseFrame echo =
                        client.Invoke(Calls.Buffer(payload.Span), ScriptedHandler.Echo, 1, Calls.Timeout);
                    Assert.Equal(payload.ToArray(), echo.Payload.ToArray());
                }

                Task<byte[]> last = client.EchoAsync(payload.ToArray());
                ScriptedHandler.Answer(connection, header, last.WaitAsync(Calls.Timeout).Result, inline: true);
                client.DisposeAsync().AsTask().Wait();
                return ValueTask.CompletedTask;
            },
        };
        await using TestServer server = await TestServer.StartAsync(handler);
        await using RemotingClient client = server.NewClient();
        for (int i = 0; i < 50; i++)
        {
            byte[] content = Calls.Content(i, 1 + (i * 100));
            Assert.Equal(content, await client.EchoAsync(content, ScriptedHandler.Custom).WaitAsync(Calls.Timeout));
        }
    }

    [Fact]
    public async Task GivenMoreEndlessStreamsThanThreads_WhenAnotherCalls_ThenItsTurnsCome()
    {
        await using TestServer server = await TestServer.StartAsync();
        using var stop = new CancellationTokenSource();
        var streams = new List<Task>();
        byte[] frames = [.. Enumerable.Repeat(Calls.Frame(ScriptedHandler.Custom, FrameFlags.None, 0, []), 16_000)
            .SelectMany(frame => frame)];
        for (int i = 0; i < Environment.ProcessorCount + 2; i++)
        {
            streams.Add(Task.Run(async () =>
            {
                using Socket socket = await server.ConnectRawAsync();
                while (!stop.IsCancellationRequested)
                    await socket.SendAsync(frames);
            }));
        }

        await using RemotingClient client = server.NewClient();
        for (int i = 0; i < 20; i++)
            Assert.Equal([7], await client.EchoAsync([7]).WaitAsync(Calls.Timeout));
        await stop.CancelAsync();
        await Task.WhenAll(streams).WaitAsync(Calls.Timeout);
    }
}
