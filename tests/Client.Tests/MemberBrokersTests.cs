using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>A member whose topic lies on several brokers: each has its own share of it.</summary>
public sealed class MemberBrokersTests
{
    private static readonly ConsumerOptions NoTimer = new() { AutoCommitInterval = TimeSpan.FromDays(1) };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenTwoBrokers_WhenAMemberReads_ThenItJoinsCommitsAndLeavesAtEach()
    {
        await using TwoCoordinators plant = await TwoCoordinators.StartAsync();
        (FakeCoordinator one, FakeCoordinator other) = (plant.One, plant.Other);
        await using (Consumer consumer = plant.Client.CreateConsumer("g", ["t"], NoTimer with { StopAtEnd = true }))
        {
            List<(int, long)> read = [];
            await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
                read.Add((message.Queue, message.Offset.Value));
            Assert.Equal(Enumerable.Range(0, 20).Select(static i => (i / 10, (long)(i % 10))), read.Order());
        }

        Assert.Equal(["commit 0@1=10", "leave"], one.Journal.TakeLast(2));
        Assert.Equal(["commit 0@5=10", "leave"], other.Journal.TakeLast(2));
    }

    [Fact]
    public async Task GivenBrokerThatRefusesForNow_WhenAMemberReads_ThenTheOtherIsReadAndTheFirstFollows()
    {
        await using TwoCoordinators plant = await TwoCoordinators.StartAsync();
        (FakeCoordinator one, FakeCoordinator other) = (plant.One, plant.Other);
        other.MeetBeat = static _ => ErrorCode.ShuttingDown;
        await using Consumer consumer = plant.Client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 10; i++)
        {
            Assert.True(await messages.MoveNextAsync());
            Assert.Equal((0, i), (messages.Current.Queue, messages.Current.Offset.Value));
        }

        other.MeetBeat = static _ => ErrorCode.None;
        Assert.True(await messages.MoveNextAsync());
        Assert.Equal((1, 0L), (messages.Current.Queue, messages.Current.Offset.Value));
    }

    [Fact]
    public async Task GivenABrokerThatRefusesForGood_WhenTheReasonIsGoneAndItJoinsAgain_ThenItReadsBothAndCommits()
    {
        await using TwoCoordinators plant = await TwoCoordinators.StartAsync();
        (FakeCoordinator one, FakeCoordinator other) = (plant.One, plant.Other);
        other.MeetBeat = static _ => ErrorCode.TagsDiffer;
        ConsumerOptions options = NoTimer with { AutoCommitInterval = TimeSpan.FromMilliseconds(20) };
        await using Consumer consumer = plant.Client.CreateConsumer("g", ["t"], options);
        EQueueException refused = await Assert.ThrowsAsync<EQueueException>(() => consumer.JoinAsync(Token).AsTask());
        Assert.Equal(ErrorCode.TagsDiffer, refused.Code);

        other.MeetBeat = static _ => ErrorCode.None;
        HashSet<(int, long)> read = [];
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            read.Add((message.Queue, message.Offset.Value));
            if (read.Count == 20)
                break;
        }

        await Eventually.TrueAsync(() => one.Journal.Any(static line => line.StartsWith("commit", StringComparison.Ordinal)));
    }

    [Fact]
    public async Task GivenRoutesThatChange_WhenTheyAreAskedForAgain_ThenNewBrokersAreJoinedAndOthersLeft()
    {
        await using TwoCoordinators plant = await TwoCoordinators.StartAsync();
        (FakeCoordinator one, FakeCoordinator other) = (plant.One, plant.Other);
        one.Brokers = [one];
        await using Consumer consumer = plant.Client.CreateConsumer(
            "g", ["t"], NoTimer with { RouteRefreshInterval = TimeSpan.FromMilliseconds(10) });
        await consumer.JoinAsync(Token);
        Assert.Equal(0, Assert.Single(consumer.GetProgress()).Queue);

        one.Brokers = [one, other];
        await Eventually.TrueAsync(() => consumer.GetProgress().Count == 2);
        one.Brokers = [other];
        await Eventually.TrueAsync(() => one.Journal.Contains("leave"));

        // What is left asks for routes.
        await Eventually.TrueAsync(() => one.ConnectionCount == 1);
        await Eventually.TrueAsync(() => consumer.GetProgress() is [{ Queue: 1 }]);
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            Assert.Equal(1, message.Queue);
            break;
        }
    }

    /// <summary>Two brokers with a queue of the topic each, which the group gives to the member, and its client.</summary>
    private sealed class TwoCoordinators : IAsyncDisposable
    {
        private TwoCoordinators(FakeCoordinator one, FakeCoordinator other)
        {
            (One, Other) = (one, other);
            one.Brokers = [one, other];
            one.Tell((0, 1));
            other.Tell((0, 5));
            Client = new EQueueClient(new ClientOptions
            {
                Addresses = one.Address,

                // A member gives a broker that refuses it for now so long, before it reads the others without it.
                RequestTimeout = TimeSpan.FromSeconds(2),
            });
        }

        public FakeCoordinator One { get; }

        public FakeCoordinator Other { get; }

        public EQueueClient Client { get; }

        public static async Task<TwoCoordinators> StartAsync() => new(
            await FakeCoordinator.StartAsync(queueCount: 1),
            await FakeCoordinator.StartAsync(queueCount: 1, firstNumber: 1));

        public async ValueTask DisposeAsync()
        {
            await Client.DisposeAsync();
            await One.DisposeAsync();
            await Other.DisposeAsync();
        }
    }
}
