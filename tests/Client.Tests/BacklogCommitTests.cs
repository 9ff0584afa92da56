using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>When a consumer commits what senders wait for.</summary>
public sealed class BacklogCommitTests
{
    private static readonly ConsumerOptions NoTimer = new() { AutoCommitInterval = TimeSpan.FromDays(1) };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAMarkedAnswer_WhenItsLastMessageIsProcessed_ThenItIsCommittedAtOnceAndNotBefore()
    {
        await using FakeCoordinator fake = await StartAsync(batches: 1);
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < FakeQueue.MessagesPerBatch; i++)
            Assert.True(await messages.MoveNextAsync());
        await BeatOnceMoreAsync(fake);
        Assert.Empty(Commits(fake));

        ValueTask<bool> step = messages.MoveNextAsync();

        await Eventually.TrueAsync(() => Commits(fake).Count > 0);
        Assert.Equal(["commit 0@1=10"], Commits(fake));
        Assert.False(step.IsCompleted);
        await consumer.DisposeAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(async () => await step);
    }

    [Fact]
    public async Task GivenManyMarkedAnswers_WhenACommitIsUnderWay_ThenOneMoreCommitsTheRest()
    {
        await using FakeCoordinator fake = await StartAsync(batches: 40);
        fake.HoldsCommits = true;
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i <= FakeQueue.MessagesPerBatch; i++)
            Assert.True(await messages.MoveNextAsync());
        await Eventually.TrueAsync(() => Commits(fake).Count > 0);
        for (int i = 1; i < 39 * FakeQueue.MessagesPerBatch; i++)
            Assert.True(await messages.MoveNextAsync());
        ValueTask<bool> step = messages.MoveNextAsync();
        Assert.Equal(["commit 0@1=10"], Commits(fake));

        fake.HoldsCommits = false;

        await Eventually.TrueAsync(() => Commits(fake).Count > 1);
        await BeatOnceMoreAsync(fake);
        Assert.Equal(["commit 0@1=10", "commit 0@1=400"], Commits(fake));
        await consumer.DisposeAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(async () => await step);
    }

    [Fact]
    public async Task GivenABrokerThatDoesNotAnswerCommits_WhenAnotherHasMarkedAnswers_ThenThoseAreCommittedAtOnce()
    {
        await using FakeCoordinator silent = await StartAsync(batches: 1);
        await using FakeCoordinator other = await FakeCoordinator.StartAsync(queueCount: 1, batches: 2, firstNumber: 1);
        silent.Brokers = other.Brokers = [silent, other];
        other.IsMarked = silent.HoldsCommits = true;
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = silent.Address,
            RequestTimeout = TimeSpan.FromSeconds(90),
        });
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < FakeQueue.MessagesPerBatch; i++)
            Assert.True(await messages.MoveNextAsync());
        Task<bool> step = messages.MoveNextAsync().AsTask();
        await Eventually.TrueAsync(() => Commits(silent).Count > 0);

        other.Tell((0, 1));
        Assert.True(await step);
        for (int i = 1; i < 2 * FakeQueue.MessagesPerBatch; i++)
            Assert.True(await messages.MoveNextAsync());
        step = messages.MoveNextAsync().AsTask();

        await Eventually.TrueAsync(() => Commits(other).Contains("commit 0@1=20"));
        silent.HoldsCommits = false;
        await consumer.DisposeAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(() => step);
    }

    [Theory]
    [InlineData(true, false)]
    [InlineData(false, true)]
    public async Task GivenNoAutoCommitOrNoMark_WhenAnswersAreProcessed_ThenNothingIsCommittedBeforeItIsTime(
        bool isMarked, bool commits)
    {
        await using FakeCoordinator fake = await StartAsync(batches: 5);
        fake.IsMarked = isMarked;
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer with { AutoCommit = commits });
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 5 * FakeQueue.MessagesPerBatch; i++)
            Assert.True(await messages.MoveNextAsync());
        ValueTask<bool> step = messages.MoveNextAsync();
        await Eventually.TrueAsync(() => fake.IsDrained);
        await BeatOnceMoreAsync(fake);

        Assert.Empty(Commits(fake));
        await consumer.CommitAsync(Token);
        Assert.Equal(["commit 0@1=50"], Commits(fake));
        await consumer.DisposeAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(async () => await step);
    }

    [Fact]
    public async Task GivenNoMark_WhenTheIntervalIsOver_ThenItIsCommitted()
    {
        await using FakeCoordinator fake = await StartAsync(batches: 1);
        fake.IsMarked = false;
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer(
            "g", ["t"], new ConsumerOptions { AutoCommitInterval = TimeSpan.FromMilliseconds(50) });
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 4; i++)
            Assert.True(await messages.MoveNextAsync());

        await Eventually.TrueAsync(() => Commits(fake).Contains("commit 0@1=3"));
    }

    private static async Task<FakeCoordinator> StartAsync(int batches)
    {
        FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1, batches: batches);
        fake.IsMarked = true;
        fake.Tell((0, 1));
        return fake;
    }

    /// <summary>A round trip of the member, behind everything that it has begun before.</summary>
    private static async Task BeatOnceMoreAsync(FakeCoordinator fake)
    {
        fake.Tell((0, 1));
        await Eventually.TrueAsync(() => fake.IsSeen);
    }

    private static List<string> Commits(FakeCoordinator fake) =>
        [.. fake.Journal.Where(static one => one.StartsWith("commit", StringComparison.Ordinal))];
}
