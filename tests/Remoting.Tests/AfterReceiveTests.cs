using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>Work that a receive loop leaves for afterwards; Linux alone.</summary>
public sealed class AfterReceiveTests
{
    [Fact]
    public async Task GivenNoReceiveLoop_WhenWorkIsQueued_ThenThePoolDoesIt()
    {
        var work = new Work();

        // The test itself may be on a thread of the poller, by way of another test.
        new Thread(() => AfterReceive.Queue(work)).Start();
        await work.Done.WaitAsync(Calls.Timeout);
        Assert.True(work.IsOnPool);
    }

    [Fact]
    public async Task GivenQuietSocket_WhenItsLoopLeavesWork_ThenItsThreadDoesItOnceTheLoopWaits()
    {
        await UntilOnTheSameThreadAsync(async (near, far) =>
        {
            var work = new Work();
            Task<(int First, int Second)> loop = LeaveWorkAsync(near, work);
            await far.SendAsync(new byte[] { 1 });
            await work.Done.WaitAsync(Calls.Timeout);
            await far.SendAsync(new byte[] { 2 });
            return work.ThreadId == (await loop.WaitAsync(Calls.Timeout)).First;
        });
    }

    [Fact]
    public async Task GivenSocketOfWhichNothingIsKnown_WhenWorkIsLeftUnlessItIsPrompt_ThenThePoolDoesIt()
    {
        for (int i = 0; i < 20; i++)
        {
            await WithPairAsync(async (near, far) =>
            {
                var work = new Work();
                Task<(int First, int Second)> loop = LeaveWorkAsync(near, work, unlessPrompt: true);
                await far.SendAsync(new byte[] { 1 });
                await work.Done.WaitAsync(Calls.Timeout);
                await far.SendAsync(new byte[] { 2 });
                await loop.WaitAsync(Calls.Timeout);
                Assert.True(work.IsOnPool);
            });
        }
    }

    [Fact]
    public async Task GivenSocketWithLongPauses_WhenWorkIsLeftUnlessItIsPrompt_ThenItsThreadDoesIt()
    {
        await UntilOnTheSameThreadAsync(async (near, far) =>
        {
            var work = new Work();
            Task<(int First, int Second)> loop = LeaveWorkAsync(near, work, unlessPrompt: true);
            await LookIsOverAsync();
            await far.SendAsync(new byte[] { 1 });
            await work.Done.WaitAsync(Calls.Timeout);
            await LookIsOverAsync();
            await far.SendAsync(new byte[] { 2 });
            return work.ThreadId == (await loop.WaitAsync(Calls.Timeout)).First;
        });
    }

    [Fact]
    public async Task GivenWorkThatIsLeft_WhenTheSocketHasMore_ThenItDoesNotWaitForTheLoop()
    {
        await WithPairAsync(async (near, far) =>
        {
            for (int i = 0; i < 20; i++)
            {
                Task<bool> loop = LoopAsync();
                await far.SendAsync(new byte[] { 1, 2 });
                Assert.True(await loop.WaitAsync(Calls.Timeout));
            }

            async Task<bool> LoopAsync()
            {
                var work = new Work();
                byte[] room = new byte[1];
                await near.ReceiveAsync(room).ConfigureAwait(false);
                AfterReceive.Queue(work);
                await near.ReceiveAsync(room).ConfigureAwait(false);
                return work.Done.Wait(TimeSpan.FromSeconds(5));
            }
        });
    }

    [Fact]
    public async Task GivenWorkThatBlocks_WhenMoreComes_ThenTheLoopGoesOnElsewhere()
    {
        await UntilOnTheSameThreadAsync(async (near, far) =>
        {
            using var open = new ManualResetEventSlim();
            var work = new Work { Act = () => Assert.True(open.Wait(Calls.Timeout)) };
            Task<(int First, int Second)> loop = LeaveWorkAsync(near, work);
            await far.SendAsync(new byte[] { 1 });
            await work.Begun.WaitAsync(Calls.Timeout);
            await far.SendAsync(new byte[] { 2 });
            (int first, int second) = await loop.WaitAsync(Calls.Timeout);
            Assert.NotEqual(work.ThreadId, second);
            open.Set();
            await work.Done.WaitAsync(Calls.Timeout);
            return work.ThreadId == first;
        });
    }

    [Fact]
    public async Task GivenAClientThatIsDisposedByItsSink_WhenTheDisposerBlocksOnWork_ThenTheWorkIsDone()
    {
        await using TestServer server = await TestServer.StartAsync();
        for (int i = 0; i < 20; i++)
        {
            RemotingClient client = server.NewClient();
            await client.WaitConnectedAsync(CancellationToken.None);
            var sink = new DisposingSink(client);
            client.Invoke(Calls.Buffer([1]), ScriptedHandler.Echo, 1, Calls.Timeout, sink, 1, inlineAllowed: false);
            Assert.True(await sink.WereDone.WaitAsync(Calls.Timeout));
        }
    }

    [Fact]
    public async Task GivenWorkThatChangesItsContext_WhenItIsOver_ThenTheThreadDoesNotKeepThat()
    {
        var context = new AsyncLocal<string?>();
        await UntilOnTheSameThreadAsync(async (near, far) =>
        {
            var first = new Work { Act = () => context.Value = "the work's" };
            Task<bool> loop = LoopAsync();
            await far.SendAsync(new byte[] { 1 });
            await first.Done.WaitAsync(Calls.Timeout);
            await far.SendAsync(new byte[] { 2 });
            return await loop.WaitAsync(Calls.Timeout);

            async Task<bool> LoopAsync()
            {
                byte[] room = new byte[10];
                await near.ReceiveAsync(room).ConfigureAwait(false);
                AfterReceive.Queue(first);
                var reader = new ContextReader(near.ReceiveAsync(room), context);
                Assert.Null(await reader.Seen.WaitAsync(Calls.Timeout).ConfigureAwait(false));
                return reader.ThreadId == first.ThreadId;
            }
        });
    }

    /// <summary>A loop that receives twice and leaves work behind the first.</summary>
    /// <returns>On which thread it went on each time.</returns>
    private static async Task<(int First, int Second)> LeaveWorkAsync(
        PolledSocket near, Work work, bool unlessPrompt = false)
    {
        byte[] room = new byte[10];
        await near.ReceiveAsync(room).ConfigureAwait(false);
        int first = Environment.CurrentManagedThreadId;
        AfterReceive.Queue(work, unlessPrompt);
        await near.ReceiveAsync(room).ConfigureAwait(false);
        return (first, Environment.CurrentManagedThreadId);
    }

    /// <summary>Nobody looks longer than 20 us for what is awaited.</summary>
    private static Task LookIsOverAsync() => Eventually.PassedAsync(TimeSpan.FromMilliseconds(1));

    /// <summary>Again and again: whether work stays with the thread depends on whether another is idle, and that on the
    /// tests beside this one.</summary>
    private static Task UntilOnTheSameThreadAsync(Func<PolledSocket, PolledSocket, Task<bool>> tryAsync) =>
        WithPairAsync(async (near, far) =>
            await Eventually.TrueAsync(() => tryAsync(near, far), "it is done on the same thread"));

    private static async Task WithPairAsync(Func<PolledSocket, PolledSocket, Task> useAsync)
    {
        (PolledSocket near, PolledSocket far) = await SocketPair.ConnectPolledAsync();
        using (near)
        using (far)
            await useAsync(near, far);
    }

    private sealed class Work : IThreadPoolWorkItem
    {
        private readonly TaskCompletionSource _begun = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly TaskCompletionSource _done = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Action Act { get; init; } = static () => { };

        public Task Begun => _begun.Task;

        public Task Done => _done.Task;

        public int ThreadId { get; private set; }

        public bool IsOnPool { get; private set; }

        public void Execute()
        {
            ThreadId = Environment.CurrentManagedThreadId;
            IsOnPool = Thread.CurrentThread.IsThreadPoolThread;
            _begun.SetResult();
            Act();
            _done.SetResult();
        }
    }

    /// <summary>Disposes its client and stays on the thread on which that ends.</summary>
    private sealed class DisposingSink(RemotingClient client) : IResponseSink
    {
        private readonly TaskCompletionSource<bool> _wereDone = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Task<bool> WereDone => _wereDone.Task;

        public void OnResponse(long token, ResponseFrame response)
        {
            response.Dispose();
            var before = new Work();
            AfterReceive.Queue(before);
            _ = DisposeAsync(before);
        }

        public void OnFailure(long token, RemotingException exception) => _wereDone.TrySetException(exception);

        private async Task DisposeAsync(Work before)
        {
            await client.DisposeAsync().ConfigureAwait(false);
            var behind = new Work();
            AfterReceive.Queue(behind);
            _wereDone.SetResult(Task.WaitAll([before.Done, behind.Done], TimeSpan.FromSeconds(15)));
        }
    }

    /// <summary>What a continuation that brings no context of its own finds on its thread.</summary>
    private sealed class ContextReader
    {
        private readonly TaskCompletionSource<string?> _seen = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public ContextReader(ValueTask<int> receiving, AsyncLocal<string?> context)
        {
            System.Runtime.CompilerServices.ValueTaskAwaiter<int> awaiter = receiving.GetAwaiter();
            awaiter.UnsafeOnCompleted(() =>
            {
                ThreadId = Environment.CurrentManagedThreadId;
                awaiter.GetResult();
                _seen.SetResult(context.Value);
            });
        }

        public Task<string?> Seen => _seen.Task;

        public int ThreadId { get; private set; }
    }
}
