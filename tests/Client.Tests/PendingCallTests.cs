using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Calls of objects that have something to do, while the broker is away or hangs: a token that is cancelled
/// inside them is told as everywhere in .NET. <see cref="PublicCallTests"/> has those that need nothing for
/// that.</summary>
public sealed class PendingCallTests
{
    private static readonly Dictionary<string, Func<World, CancellationToken, ValueTask>> Calls = new(StringComparer.Ordinal)
    {
        ["Producer.FlushAsync, a batch under way"] = (world, token) =>
        {
            world.SendUnwatched("t");
            return world.Producer.FlushAsync(token);
        },
        ["Producer.FlushAsync, a message that waits for its route"] = (world, token) =>
        {
            world.SendUnwatched("unknown");
            return world.Producer.FlushAsync(token);
        },
        ["Consumer.CommitAsync"] = (world, token) => world.Consumer.CommitAsync(token),
        ["Consumer.CommitAsync of a message"] = (world, token) => world.Consumer.CommitAsync(world.Messages.Current, token),
        ["Consumer.CommitAsync of places"] = (world, token) => world.Consumer.CommitAsync(
            [.. world.Consumer.GetProgress().Select(static place => place with { Next = new QueueOffset(1) })], token),
        ["Consumer.SeekAsync"] = (world, token) => world.Consumer.SeekAsync("t", 0, StartPosition.End, token),
        ["Consumer.LeaveAsync"] = (world, token) => world.Consumer.LeaveAsync(token),
        ["QueueReader.SeekAsync"] = (world, token) => world.Reader.SeekAsync("t", 0, StartPosition.End, token),
        ["QueueReader.CommitAsync"] = (world, token) => world.Reader.CommitAsync("readers", token),
    };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    public static TheoryData<string, bool> All
    {
        get
        {
            var rows = new TheoryData<string, bool>();
            foreach (string name in Calls.Keys)
            {
                rows.Add(name, false);
                rows.Add(name, true);
            }

            return rows;
        }
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task GivenWorkThatWaitsForABroker_WhenTheTokenIsCancelledInTheCall_ThenOperationCanceledCarriesIt(
        string name, bool isHung)
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using World world = await World.StartAsync(broker.Address);
        await world.TakeAwayAsync(isHung);
        using var source = new CancellationTokenSource();
        Task call = Calls[name](world, source.Token).AsTask();
        await world.Missed.Task.WaitAsync(TimeSpan.FromMinutes(1), Token);

        // One that left before the client noticed is told that its connection is lost: the next one waits.
        if (call.Exception?.InnerException is EQueueException { Code: ErrorCode.ConnectionLost })
            call = Calls[name](world, source.Token).AsTask();
        Assert.False(call.IsCompleted, $"It waits for the broker: {call.Exception}");
        await source.CancelAsync();
        OperationCanceledException exception = await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => call.WaitAsync(TimeSpan.FromMinutes(1), Token));
        Assert.Equal(source.Token, exception.CancellationToken);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenASendThatWaitsForItsRoute_WhenItsTokenIsCancelled_ThenTheCallbackIsToldSo(bool isHung)
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using World world = await World.StartAsync(broker.Address);
        await world.TakeAwayAsync(isHung);
        using var source = new CancellationTokenSource();
        var told = new TaskCompletionSource<EQueueException?>(TaskCreationOptions.RunContinuationsAsynchronously);
        world.Producer.Send(
            "unknown", new Message(new byte[1]), (_, _, error) => told.TrySetResult(error), null, source.Token);
        await world.Missed.Task.WaitAsync(TimeSpan.FromMinutes(1), Token);
        Assert.False(told.Task.IsCompleted);
        await source.CancelAsync();
        EQueueException? error = await told.Task.WaitAsync(TimeSpan.FromMinutes(1), Token);
        Assert.Equal(ErrorCode.Cancelled, error?.Code);
    }

    /// <summary>Objects with work: a producer that knows a topic, a member with a message processed and another in its
    /// hand, a reader that took some.</summary>
    private sealed class World : IAsyncDisposable
    {
        private readonly List<Task> _unwatched = [];
        private readonly HangingRelay _relay;
        private bool _isAway;

        private World(string address)
        {
            _relay = new HangingRelay(address, Missed);
            Client = new EQueueClient(new ClientOptions
            {
                Addresses = _relay.Address,
                RequestTimeout = TimeSpan.FromMinutes(5),
                CloseTimeout = TimeSpan.FromMilliseconds(100),
                ConnectFailed = _ => Missed.TrySetResult(),
            });
            Producer = Client.CreateProducer();
            Consumer = Client.CreateConsumer("g", ["t"], new ConsumerOptions { AutoCommitInterval = TimeSpan.FromHours(1) });
            Reader = Client.CreateReader();
            Messages = Consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        }

        /// <summary>A connection failed, or something was sent that has no answer.</summary>
        public TaskCompletionSource Missed { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public Producer Producer { get; }

        public Consumer Consumer { get; }

        public QueueReader Reader { get; }

        public IAsyncEnumerator<ReceivedMessage> Messages { get; }

        private EQueueClient Client { get; }

        public static async Task<World> StartAsync(string address)
        {
            var world = new World(address);
            for (int i = 0; i < 3; i++)
                await world.Producer.SendAsync("t", new byte[1], cancellationToken: Token);
            for (int i = 0; i < 2; i++)
                Assert.True(await world.Messages.MoveNextAsync());
            await world.Reader.AssignAllAsync("t", StartPosition.Begin, Token);
            Assert.NotEmpty(await world.Reader.PullAsync(1, TimeSpan.FromMinutes(1), Token));
            return world;
        }

        /// <summary>The broker answers nothing any more, or no connection reaches it.</summary>
        public async Task TakeAwayAsync(bool isHung)
        {
            if (isHung)
                _relay.Hang();
            else
                await CloseRelayAsync();
        }

        /// <summary>A send whose end is not awaited: it fails with the client.</summary>
        public void SendUnwatched(string topic) =>
            _unwatched.Add(Producer.SendAsync(topic, new byte[1], cancellationToken: CancellationToken.None).AsTask());

        public async ValueTask DisposeAsync()
        {
            await Client.DisposeAsync();
            await Messages.DisposeAsync();
            foreach (Task send in _unwatched)
                await send.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
            await CloseRelayAsync();
        }

        private async Task CloseRelayAsync()
        {
            if (_isAway)
                return;
            _isAway = true;
            await _relay.DisposeAsync();
        }
    }

    /// <summary>Keeps what is sent through it, once it hangs.</summary>
    private sealed class HangingRelay(string target, TaskCompletionSource missed) : TcpRelay(target)
    {
        private volatile bool _isHanging;

        public void Hang() => _isHanging = true;

        protected override async ValueTask<bool> PassAsync(Memory<byte> bytes, bool isAnswer, CancellationToken end)
        {
            if (!_isHanging)
                return true;
            if (!isAnswer)
                missed.TrySetResult();
            await new TaskCompletionSource().Task.WaitAsync(end);
            return false;
        }
    }
}
