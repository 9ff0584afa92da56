using EQueue.Support;
namespace EQueue.Remoting.Tests;

/// <summary>Timeouts, cancellation, late answers, a full ring, a full queue.</summary>
public sealed class WaitingTests
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(100);

    [Fact]
    public async Task GivenServerThatNeverAnswers_WhenTheTimeoutIsOver_ThenEveryModeFailsWithTimeout()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        await client.WaitConnectedAsync(CancellationToken.None);
        Assert.Equal(RemotingError.Timeout, await Hold(client, Short).ErrorOfAsync());
        RemotingException blocking = await Task.Factory.StartNew(
            () => Assert.Throws<RemotingException>(
                () => client.Invoke(Calls.Buffer([1]), ScriptedHandler.Hold, 1, Short).Dispose()),
            TaskCreationOptions.LongRunning);
        Assert.Equal(RemotingError.Timeout, blocking.Error);
        var sink = new CallTests.CountingSink();
        client.Invoke(Calls.Buffer([1]), ScriptedHandler.Hold, 1, Short, sink, 3, inlineAllowed: false);
        await Eventually.TrueAsync(() => !sink.Failures.IsEmpty, "the sink is told");
        Assert.Equal((3, RemotingError.Timeout), sink.Failures.Single());
        Assert.True(client.IsConnected);
        Assert.Equal(0, client.InFlight);
    }

    [Fact]
    public async Task GivenNoTimeoutInTheCall_WhenNothingIsAnswered_ThenTheOptionsRequestTimeoutCounts()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient(new RemotingClientOptions { RequestTimeout = Short });
        Assert.Equal(RemotingError.Timeout, await Hold(client, TimeSpan.Zero).ErrorOfAsync());
    }

    [Fact]
    public async Task GivenLateAnswers_WhenTheSlotsServeOtherCalls_ThenTheyAreDropped()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient(new RemotingClientOptions { MaxInFlight = 8 });
        Task<RemotingError>[] late =
            [.. Enumerable.Range(0, 8).Select(_ => Hold(client, TimeSpan.FromMilliseconds(500)).ErrorOfAsync())];
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 8, "all eight are held");
        Assert.All(await Task.WhenAll(late), error => Assert.Equal(RemotingError.Timeout, error));

        byte[][] contents = [.. Enumerable.Range(0, 8).Select(i => Calls.Content(i, 50))];
        Task<byte[]>[] current = [.. contents.Select(content => client.EchoAsync(content, ScriptedHandler.Hold))];
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 16, "the slots are in use again");
        server.Handler.Release();
        Assert.Equal(contents, await Task.WhenAll(current));
    }

    [Fact]
    public async Task GivenCallUnderWay_WhenCancelled_ThenItFailsAndItsLateAnswerIsDropped()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient(new RemotingClientOptions { MaxInFlight = 2 });
        for (int i = 0; i < 10; i++)
        {
            using var cancellation = new CancellationTokenSource();
            Task<RemotingError> call =
                client.InvokeAsync(Calls.Buffer([1]), ScriptedHandler.Hold, 1, Calls.Timeout, cancellation.Token).ErrorOfAsync();
            await Eventually.TrueAsync(() => server.Handler.HeldCount == 1, "the request is held");
            await cancellation.CancelAsync();
            Assert.Equal(RemotingError.Cancelled, await call);
            server.Handler.Release();
            Assert.Equal([2], await client.EchoAsync([2]));
        }
    }

    [Fact]
    public async Task GivenCancelledToken_WhenCalled_ThenNothingIsSent()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient();
        await client.WaitConnectedAsync(CancellationToken.None);
        var cancelled = new CancellationToken(canceled: true);
        Assert.Equal(
            RemotingError.Cancelled, await client.InvokeAsync(Calls.Buffer([1]), 1, 1, Calls.Timeout, cancelled).ErrorOfAsync());
        RemotingException oneway = await Assert.ThrowsAsync<RemotingException>(
            async () => await client.SendOnewayAsync(Calls.Buffer([1]), 1, 1, cancelled));
        Assert.Equal(RemotingError.Cancelled, oneway.Error);
        await client.EchoAsync([1]);
        Assert.Equal(1, server.Handler.FrameCount);
    }

    [Fact]
    public async Task GivenSmallRing_WhenManyCallsAreMade_ThenTheyGoRoundItManyTimes()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient(new RemotingClientOptions { MaxInFlight = 4 });
        byte[][] contents = [.. Enumerable.Range(0, 3000).Select(i => Calls.Content(i, 8))];
        Assert.Equal(contents, await Task.WhenAll(contents.Select(content => client.EchoAsync(content))));
        Assert.Equal(0, client.InFlight);
    }

    [Fact]
    public void GivenRingOfFewSlots_WhenIdsAreUsedUp_ThenTheyBeginAgainWithoutZeroAndOldOnesEndNothing()
    {
        var ring = new InFlightRing(65_536, _ => { });
        var sink = new CallTests.CountingSink();
        var seen = new HashSet<uint>();
        uint first = 0;
        for (int i = 0; i < 256 * 65_600; i++)
        {
            Assert.True(ring.TryTake(sink, i, ring, 0, CancellationToken.None, out uint id, out _));
            if (id == 0 || (i < 100_000 && !seen.Add(id)))
                Assert.Fail($"The id {id} came twice, or is none.");
            if (i == 0)
                first = id;
            if (i == 256)
                Assert.False(ring.TryDisarm(first, out _), "An id of the slot's earlier use ended a call.");
            Assert.True(ring.TryDisarm(id, out _));
            ring.CountEnded(1);
            ring.Free([id]);
        }

        Assert.False(ring.TryDisarm(0, out _));
        Assert.False(ring.TryDisarm(uint.MaxValue, out _));
        Assert.Equal(0, ring.InFlight);
    }

    [Fact]
    public async Task GivenFullRing_WhenNoSlotIsFreeInTime_ThenTheCallTimesOutAndNothingIsStuck()
    {
        await using TestServer server = await TestServer.StartAsync();
        await using RemotingClient client = server.NewClient(new RemotingClientOptions { MaxInFlight = 2 });
        Task<byte[]>[] held = [client.EchoAsync([1], ScriptedHandler.Hold), client.EchoAsync([2], ScriptedHandler.Hold)];
        await Eventually.TrueAsync(() => server.Handler.HeldCount == 2, "both are held");
        Task<RemotingError> givesUp = Hold(client, Short).ErrorOfAsync();
        Task<byte[]> waits = client.EchoAsync([3]);
        Assert.Equal(RemotingError.Timeout, await givesUp);
        Assert.False(waits.IsCompleted);
        server.Handler.Release();
        Assert.Equal([3], await waits);
        await Task.WhenAll(held);
        Assert.Equal(3, server.Handler.FrameCount);
    }

    [Fact]
    public async Task GivenServerThatReadsNothing_WhenTheQueueIsFull_ThenSendersWaitAndGoOnWithIt()
    {
        var gate = new TaskCompletionSource();
        await using TestServer server = await StartUnreadingAsync(gate.Task);
        await using RemotingClient client = NewUnreadClient(server);
        byte[] content = new byte[32 * 1024];
        int accepted = await FillAsync(client, content);
        Assert.InRange(client.QueuedBytes, 32 * 1024, 100 * 1024);
        var sending = Task.Run(async () =>
        {
            for (int i = 0; i < 100; i++)
                await client.SendOnewayAsync(Calls.Buffer(content), ScriptedHandler.Echo, 1, CancellationToken.None);
        });
        Assert.Empty(server.Handler.Oneways);
        gate.SetResult();
        await sending;
        await Eventually.TrueAsync(() => server.Handler.Oneways.Count == accepted + 100, "everything has arrived");
    }

    [Fact]
    public async Task GivenOnewayRequestsThatFillTheirPartOfTheQueue_WhenCallsFollow_ThenTheyHaveAsMuchAgainAndThenWait()
    {
        var gate = new TaskCompletionSource();
        await using TestServer server = await StartUnreadingAsync(gate.Task);
        await using RemotingClient client = NewUnreadClient(server);
        await FillAsync(client, new byte[32 * 1024]);
        byte[] content = new byte[4096];
        var calls = new List<Task<byte[]>>();
        long before = 0;
        while (client.QueuedBytes > before)
        {
            before = client.QueuedBytes;
            calls.Add(client.EchoAsync(content));
        }

        Assert.InRange(before, 128 * 1024, 136 * 1024);
        calls.Add(client.EchoAsync(content));
        Assert.Equal(before, client.QueuedBytes);
        gate.SetResult();
        Assert.All(await Task.WhenAll(calls).WaitAsync(Calls.Timeout), answer => Assert.Equal(content, answer));
    }

    /// <summary>A server that reads nothing more of a connection behind a request <see cref="ScriptedHandler.Custom"/>
    /// before the gate opens.</summary>
    private static Task<TestServer> StartUnreadingAsync(Task gate) => TestServer.StartAsync(
        new ScriptedHandler { OnCustom = async (connection, _, _) => await gate.WaitAsync(connection.Closed) });

    /// <summary>A client with little room, which has sent that request.</summary>
    private static RemotingClient NewUnreadClient(TestServer server)
    {
        RemotingClient client = server.NewClient(new RemotingClientOptions { MaxQueuedSendBytes = 64 * 1024 });
        client.Invoke(
            Calls.Buffer([1]), ScriptedHandler.Custom, 1, Calls.Timeout, new CallTests.CountingSink(), 1, inlineAllowed: false);
        return client;
    }

    /// <summary>Sends oneway requests until one waits, and takes that one back.</summary>
    /// <returns>How many were accepted.</returns>
    private static async Task<int> FillAsync(RemotingClient client, byte[] content)
    {
        for (int accepted = 0; ; accepted++)
        {
            using var cancellation = new CancellationTokenSource(TimeSpan.FromMilliseconds(300));
            try
            {
                await client.SendOnewayAsync(Calls.Buffer(content), ScriptedHandler.Echo, 1, cancellation.Token);
            }
            catch (RemotingException exception)
            {
                Assert.Equal(RemotingError.Cancelled, exception.Error);
                return accepted;
            }
        }
    }

    private static ValueTask<ResponseFrame> Hold(RemotingClient client, TimeSpan timeout) =>
        client.InvokeAsync(Calls.Buffer([1]), ScriptedHandler.Hold, 1, timeout, CancellationToken.None);
}
