using System.Buffers.Binary;
using System.Collections.Concurrent;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Each call mode at 1 KB against a server process that is killed with -9 and started again, calls in
/// flight.</summary>
public sealed class TwoProcessTests
{
    private const int BodyBytes = 1024;
    private const int CallsPerLife = 2000;
    private const byte Echo = 1;
    private const byte CountOneways = 3;

    private static readonly RemotingClientOptions Options = new() { MaxReconnectDelay = TimeSpan.FromMilliseconds(200) };

    [Fact]
    public async Task GivenAsyncCallsOf1KB_WhenTheServerIsKilledAndRestarted_ThenEveryCallIsAnsweredOrFailsTyped()
    {
        await RunThroughKillsAsync(async (client, tally, stop) =>
        {
            for (int seed = 0; !stop.IsCancellationRequested; seed++)
            {
                Task[] calls = [.. Enumerable.Range(0, 64).Select(i => tally.CountAsync(async () =>
                {
                    byte[] content = Calls.Content((seed * 64) + i, BodyBytes);
                    using ResponseFrame response =
                        await client.InvokeAsync(Calls.Buffer(content), Echo, 1, Calls.Timeout, CancellationToken.None);
                    Assert.True(response.Payload.Span.SequenceEqual(content), "The answer is another call's.");
                }))];
                await Task.WhenAll(calls);
            }
        });
    }

    [Fact]
    public async Task GivenBlockingCallsOf1KB_WhenTheServerIsKilledAndRestarted_ThenEveryCallIsAnsweredOrFailsTyped()
    {
        await RunThroughKillsAsync((client, tally, stop) => Task.Factory.StartNew(
            () =>
            {
                for (int seed = 0; !stop.IsCancellationRequested; seed++)
                {
                    byte[] content = Calls.Content(seed, BodyBytes);
                    tally.Count(() =>
                    {
                        using ResponseFrame response = client.Invoke(Calls.Buffer(content), Echo, 1, Calls.Timeout);
                        Assert.True(response.Payload.Span.SequenceEqual(content), "The answer is another call's.");
                    });
                }
            },
            TaskCreationOptions.LongRunning));
    }

    [Fact]
    public async Task GivenCallbackCallsOf1KB_WhenTheServerIsKilledAndRestarted_ThenEachTokenIsToldExactlyOnce()
    {
        var told = new ConcurrentDictionary<long, int>();
        long made = 0;
        await RunThroughKillsAsync(async (client, tally, stop) =>
        {
            var sink = new TallySink(tally, told);
            while (!stop.IsCancellationRequested)
            {
                for (int i = 0; i < 64; i++)
                    client.Invoke(Calls.Buffer(Calls.Content(i, BodyBytes)), Echo, 1, Calls.Timeout, sink, made++, inlineAllowed: false);
                long sent = made;
                await Eventually.TrueAsync(() => told.Count == sent, "all outcomes of the round are told");
            }
        });
        Assert.Equal(made, told.Count);
        Assert.All(told.Values, times => Assert.Equal(1, times));
    }

    [Fact]
    public async Task GivenOnewaysOf1KB_WhenTheServerIsKilledAndRestarted_ThenTheyArriveAgainWithoutACallerNoticing()
    {
        PeerProcess peer = await PeerProcess.StartAsync();
        int port = peer.EndPoint.Port;
        await using var client = new RemotingClient(peer.EndPoint, Options, new CollectedLog());
        byte[] content = Calls.Content(1, BodyBytes);
        int refused = 0;
        for (int life = 0; life < 3; life++)
        {
            for (int i = 0; i < CallsPerLife; i++)
                refused += await SendAsync(client, content) ? 0 : 1;
            await Eventually.TrueAsync(() => Arrived(client) > 0, "oneways arrive in this life");
            if (life == 0)
                Assert.Equal(CallsPerLife, await LastArrivedAsync(client, CallsPerLife));
            await peer.KillAsync();
            peer.Dispose();
            peer = await PeerProcess.StartAsync(port);
        }

        Assert.InRange(refused, 0, CallsPerLife);
        Assert.Equal(0, await peer.StopAsync());
        peer.Dispose();
    }

    private static async Task RunThroughKillsAsync(Func<RemotingClient, Tally, CancellationToken, Task> work)
    {
        PeerProcess peer = await PeerProcess.StartAsync();
        int port = peer.EndPoint.Port;
        var log = new CollectedLog();
        await using var client = new RemotingClient(peer.EndPoint, Options, log);
        var tally = new Tally();
        using var stop = new CancellationTokenSource();
        var working = Task.Run(() => work(client, tally, stop.Token));
        for (int life = 1; life <= 3; life++)
        {
            int target = tally.Answered + CallsPerLife;
            await Eventually.TrueAsync(() => tally.Answered >= target || working.IsCompleted, $"calls are answered in life {life}");
            if (life == 3)
                break;
            await peer.KillAsync();
            peer.Dispose();
            peer = await PeerProcess.StartAsync(port);
        }

        await stop.CancelAsync();
        await working;
        Assert.Equal(0, client.InFlight);

        // A dying process may still take a connection that its kernel had accepted.
        Assert.InRange(client.ConnectionGeneration, 3, 9);
        Assert.All(tally.Errors, error => Assert.Equal(RemotingError.ConnectionLost, error));
        Assert.DoesNotContain(log.Lines, line => line.Level >= Microsoft.Extensions.Logging.LogLevel.Error);
        Assert.Equal(0, await peer.StopAsync());
        peer.Dispose();
    }

    private static async Task<bool> SendAsync(RemotingClient client, byte[] content)
    {
        try
        {
            await client.SendOnewayAsync(Calls.Buffer(content), 2, 1, CancellationToken.None);
            return true;
        }
        catch (RemotingException exception)
        {
            Assert.Equal(RemotingError.ConnectionLost, exception.Error);
            return false;
        }
    }

    private static async Task<long> LastArrivedAsync(RemotingClient client, long expected)
    {
        await Eventually.TrueAsync(() => Arrived(client) >= expected, "every oneway of a life without a kill arrives");
        return Arrived(client);
    }

    private static long Arrived(RemotingClient client)
    {
        using ResponseFrame response = client.Invoke(FrameBuffer.Rent(), CountOneways, 1, Calls.Timeout);
        return BinaryPrimitives.ReadInt64LittleEndian(response.Payload.Span);
    }

    private sealed class Tally
    {
        private int _answered;

        public int Answered => Volatile.Read(ref _answered);

        public ConcurrentQueue<RemotingError> Errors { get; } = new();

        public void Count(Action call)
        {
            try
            {
                call();
                Interlocked.Increment(ref _answered);
            }
            catch (RemotingException exception)
            {
                Errors.Enqueue(exception.Error);
            }
        }

        public async Task CountAsync(Func<Task> call)
        {
            try
            {
                await call();
                Interlocked.Increment(ref _answered);
            }
            catch (RemotingException exception)
            {
                Errors.Enqueue(exception.Error);
            }
        }
    }

    private sealed class TallySink(Tally tally, ConcurrentDictionary<long, int> told) : IResponseSink
    {
        public void OnResponse(long token, ResponseFrame response)
        {
            bool isRight = response.Payload.Span.SequenceEqual(Calls.Content((int)(token % 64), BodyBytes));
            response.Dispose();
            tally.Count(() => Assert.True(isRight));
            told.AddOrUpdate(token, 1, (_, times) => times + 1);
        }

        public void OnFailure(long token, RemotingException exception)
        {
            tally.Count(() => throw exception);
            told.AddOrUpdate(token, 1, (_, times) => times + 1);
        }
    }
}
