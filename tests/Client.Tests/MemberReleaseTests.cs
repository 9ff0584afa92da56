using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>
/// How a member gives a queue up: after the application's step, after its commit, and never skipping.
/// </summary>
public sealed class MemberReleaseTests
{
    private static readonly ConsumerOptions NoTimer = new() { AutoCommitInterval = TimeSpan.FromDays(1) };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenMessageInHand_WhenItsQueueIsAskedBack_ThenItIsReleasedAfterTheStepAndTheCommit()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync();
        fake.Tell((0, 1), (1, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 3; i++)
            Assert.True(await messages.MoveNextAsync());
        (int gone, int kept) = (messages.Current.Queue, 1 - messages.Current.Queue);

        fake.Tell((kept, 1));
        await WaitUntilSeenAsync(fake);
        Assert.Equal(2, messages.Current.Offset.Value);
        Assert.DoesNotContain($"own {kept}@1", fake.Journal);
        Assert.DoesNotContain(fake.Journal, static one => one.StartsWith("commit", StringComparison.Ordinal));

        Assert.True(await messages.MoveNextAsync());
        Assert.Equal((kept, 0L), (messages.Current.Queue, messages.Current.Offset.Value));
        await Eventually.TrueAsync(() => fake.Journal.Contains($"own {kept}@1"));
        Assert.True(IndexOf(fake, $"commit {gone}@1=3") < IndexOf(fake, $"own {kept}@1"));

        Assert.True(await messages.MoveNextAsync());
        await consumer.CommitAsync(Token);
        Assert.Equal($"commit {kept}@1=1", fake.Journal[^1]);
    }

    [Fact]
    public async Task GivenBatchInHand_WhenItsQueueIsAskedBack_ThenTheWholeBatchIsCommittedBeforeTheRelease()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync();
        fake.Tell((0, 1), (1, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedBatch> batches =
            consumer.ReadBatchesAsync(Token).GetAsyncEnumerator(Token);
        Assert.True(await batches.MoveNextAsync());
        (int gone, int kept) = (batches.Current.Queue, 1 - batches.Current.Queue);

        fake.Tell((kept, 1));
        await WaitUntilSeenAsync(fake);
        Assert.DoesNotContain($"own {kept}@1", fake.Journal);

        Assert.True(await batches.MoveNextAsync());
        Assert.Equal(kept, batches.Current.Queue);
        await Eventually.TrueAsync(() => fake.Journal.Contains($"own {kept}@1"));
        Assert.True(IndexOf(fake, $"commit {gone}@1=10") < IndexOf(fake, $"own {kept}@1"));
    }

    [Fact]
    public async Task GivenLoopThatEndedInABatch_WhenItsQueueIsAskedBack_ThenTheLastMessageIsNotCommitted()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.Tell((0, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            if (message.Offset.Value == 4)
                break;
        }

        fake.Tell();
        await Eventually.TrueAsync(() => fake.Journal.Contains("own"));
        Assert.True(IndexOf(fake, "commit 0@1=4") < IndexOf(fake, "own"));

        fake.Tell((0, 300));
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            Assert.Equal(4, message.Offset.Value);
            break;
        }
    }

    [Fact]
    public async Task GivenLoopInTheMiddleOfABatch_WhenTheQueueGoesAndComesBack_ThenNothingIsSkipped()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1, batches: 3);
        fake.Tell((0, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 15; i++)
            Assert.True(await messages.MoveNextAsync());
        Assert.Equal(14, messages.Current.Offset.Value);

        fake.Tell();
        await WaitUntilSeenAsync(fake);
        ValueTask<bool> step = messages.MoveNextAsync();
        await Eventually.TrueAsync(() => fake.Journal.Contains("own"));
        Assert.False(step.IsCompleted);
        fake.Tell((0, 300));

        Assert.True(await step);
        Assert.Equal(15, messages.Current.Offset.Value);
    }

    [Fact]
    public async Task GivenNoLoop_WhenAQueueIsAskedBack_ThenItIsReleasedAtOnce()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync();
        fake.Tell((0, 1), (1, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await consumer.JoinAsync(Token);
        Assert.Equal(2, consumer.GetProgress().Count);

        fake.Tell((1, 1));
        await Eventually.TrueAsync(() => fake.Journal.Contains("own 1@1"));
        Assert.Equal(1, Assert.Single(consumer.GetProgress()).Queue);
    }

    [Fact]
    public async Task GivenCommitThatIsRefusedForNow_WhenAQueueIsReleased_ThenItGoesAgainFirst()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync();
        fake.Tell((0, 1), (1, 1));
        int refusals = 2;
        fake.MeetOffset = _ => refusals-- > 0 ? ErrorCode.StorageFull : ErrorCode.None;
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedBatch> batches =
            consumer.ReadBatchesAsync(Token).GetAsyncEnumerator(Token);
        Assert.True(await batches.MoveNextAsync());
        (int gone, int kept) = (batches.Current.Queue, 1 - batches.Current.Queue);
        Assert.True(await batches.MoveNextAsync());

        fake.Tell((kept, 1));
        await Eventually.TrueAsync(() => fake.Journal.Contains($"own {kept}@1"));

        Assert.Equal(3, fake.Journal.Count(one => one == $"commit {gone}@1=10"));
        Assert.True(IndexOf(fake, $"commit {gone}@1=10") < IndexOf(fake, $"own {kept}@1"));
    }

    [Fact]
    public async Task GivenCallbacks_WhenQueuesComeAndGo_ThenTheyAreToldInTimeToSeekAndToCommit()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync();
        fake.Tell((0, 1));
        Consumer consumer = null!;
        await using var client = new EQueueClient(fake.Address);
        await using (consumer = client.CreateConsumer("g", ["t"], new ConsumerOptions
        {
            AutoCommit = false,
            Assigned = async (queues, token) =>
                await consumer.SeekAsync("t", Assert.Single(queues).Queue, StartPosition.AtOffset(5), token),
            Revoking = async (_, token) => await consumer.CommitAsync(token),
        }))
        {
            await using IAsyncEnumerator<ReceivedMessage> messages =
                consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
            Assert.True(await messages.MoveNextAsync());
            Assert.Equal(5, messages.Current.Offset.Value);
            Assert.True(await messages.MoveNextAsync());

            fake.Tell((1, 2));
            await WaitUntilSeenAsync(fake);
            Assert.True(await messages.MoveNextAsync());
            Assert.Equal((1, 5L), (messages.Current.Queue, messages.Current.Offset.Value));
            await Eventually.TrueAsync(() => fake.Journal.Contains("own 1@2"));
        }

        Assert.True(IndexOf(fake, "commit 0@1=7") < IndexOf(fake, "own 1@2"));
        Assert.Equal("leave", fake.Journal[^1]);
        Assert.DoesNotContain("commit 1@2=6", fake.Journal);
    }

    [Fact]
    public async Task GivenMessageInHand_WhenItIsCommittedDuringTheRevocation_ThenItCounts()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync();
        fake.Tell((0, 1), (1, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        Assert.True(await messages.MoveNextAsync());
        (int gone, int kept) = (messages.Current.Queue, 1 - messages.Current.Queue);
        fake.Tell((kept, 1));
        await WaitUntilSeenAsync(fake);

        await consumer.CommitAsync(messages.Current, Token);

        Assert.Equal($"commit {gone}@1=1", fake.Journal[^1]);
        await messages.DisposeAsync();
        await Eventually.TrueAsync(() => fake.Journal.Contains($"own {kept}@1"));
    }

    [Theory]
    [InlineData(null, "leave")]
    [InlineData("station-1", "leave to stay")]
    public async Task GivenProcessedMessages_WhenDisposed_ThenTheyAreCommittedAndTheGroupIsLeft(
        string? instance, string farewell)
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.Tell((0, 1));
        await using var client = new EQueueClient(fake.Address);
        await using (Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer with { InstanceId = instance }))
        {
            await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            {
                if (message.Offset.Value == 7)
                    break;
            }
        }

        Assert.Equal(["commit 0@1=7", farewell], fake.Journal.TakeLast(2));
    }

    [Fact]
    public async Task GivenStaticMember_WhenItLeavesForGood_ThenTheBrokerIsToldSo()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.Tell((0, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer with { InstanceId = "station-1" });
        await consumer.JoinAsync(Token);
        await consumer.LeaveAsync(Token);
        Assert.Equal("leave", fake.Journal[^1]);
        Assert.Empty(consumer.GetProgress());
        await consumer.DisposeAsync();
        Assert.Equal("leave", fake.Journal[^1]);
    }

    [Fact]
    public async Task GivenMemberWithoutAQueue_WhenItReadsToTheEnd_ThenItWaitsForWhatIsOnItsWay()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.Pending = 1;
        fake.Tell();
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer with { StopAtEnd = true });
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        Task<bool> step = messages.MoveNextAsync().AsTask();
        await WaitUntilSeenAsync(fake);
        Assert.False(step.IsCompleted);

        fake.Pending = 0;
        fake.Tell();

        Assert.False(await step);
    }

    [Fact]
    public async Task GivenPausedQueue_WhenItIsResumed_ThenItsMessagesCome()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1, batches: 3);
        Consumer consumer = null!;
        var paused = new TaskCompletionSource();
        await using var client = new EQueueClient(fake.Address);
        fake.Tell((0, 1));
        await using (consumer = client.CreateConsumer("g", ["t"], NoTimer with
        {
            Assigned = (_, _) =>
            {
                consumer.Pause("t", 0);
                paused.SetResult();
                return ValueTask.CompletedTask;
            },
        }))
        {
            await using IAsyncEnumerator<ReceivedMessage> messages =
                consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
            ValueTask<bool> step = messages.MoveNextAsync();
            await paused.Task.WaitAsync(Token);
            Assert.False(step.IsCompleted);
            consumer.Resume("t", 0);
            Assert.True(await step);
            Assert.Throws<EQueueException>(() => consumer.Pause("t", 1));
        }
    }

    private static int IndexOf(FakeCoordinator fake, string what) => fake.Journal.ToList().LastIndexOf(what);

    /// <summary>The member's next call names the list that was told last: it has been applied.</summary>
    private static Task WaitUntilSeenAsync(FakeCoordinator fake) => Eventually.TrueAsync(() => fake.IsSeen);
}
