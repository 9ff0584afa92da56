using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>What a member does when calls fail, its session ends, or its broker is another one.</summary>
public sealed class MemberFaultTests
{
    private static readonly ConsumerOptions NoTimer = new() { AutoCommitInterval = TimeSpan.FromDays(1) };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(ErrorCode.TagsDiffer)]
    [InlineData(ErrorCode.GroupKindDiffers)]
    [InlineData(ErrorCode.LimitReached)]
    [InlineData(ErrorCode.InvalidArgument)]
    public async Task GivenGroupThatRefuses_WhenJoined_ThenTheCallerIsTold(ErrorCode error)
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync();
        fake.Tell((0, 1));
        fake.MeetBeat = _ => error;

        // For so long a refusal that may pass is tried again.
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = fake.Address,
            RequestTimeout = TimeSpan.FromSeconds(2),
        });
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);

        EQueueException refusal =
            await Assert.ThrowsAsync<EQueueException>(async () => await consumer.JoinAsync(Token));
        Assert.Equal(error, refusal.Code);

        fake.MeetBeat = static _ => ErrorCode.None;
        await consumer.JoinAsync(Token);
        Assert.Single(consumer.GetProgress());
    }

    [Fact]
    public async Task GivenSessionThatEnded_WhenAMessageIsInHand_ThenTheMemberJoinsAnewAfterItAndCommitsNothingOfIt()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1, batches: 3);
        fake.Tell((0, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 5; i++)
            Assert.True(await messages.MoveNextAsync());
        await Eventually.TrueAsync(() => fake.IsParked);
        fake.SetCommitted(0, 2);
        fake.MeetBeat = beat => beat.Generation == GroupGeneration.Join || CountOf(fake, "join") == 2
            ? ErrorCode.None
            : ErrorCode.UnknownMember;
        fake.Refuse(ErrorCode.UnknownMember);
        await Eventually.TrueAsync(() => consumer.GetProgress().Count == 0);
        Assert.Equal(4, messages.Current.Offset.Value);
        EQueueException refusal = await Assert.ThrowsAsync<EQueueException>(
            async () => await consumer.CommitAsync(messages.Current, Token));
        Assert.Equal(ErrorCode.QueueNotOwned, refusal.Code);
        Assert.Equal(1, CountOf(fake, "join"));

        fake.SetNext((0, 300));
        Assert.True(await messages.MoveNextAsync());

        Assert.Equal(2, messages.Current.Offset.Value);
        Assert.Equal(2, CountOf(fake, "join"));
        Assert.DoesNotContain(fake.Journal, IsCommit);
    }

    [Fact]
    public async Task GivenInstanceThatWasTakenOver_WhenTheMemberIsTold_ThenItsLoopEndsAndItStaysAway()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.Tell((0, 1));
        await using var client = new EQueueClient(fake.Address);
        await using (Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer with { InstanceId = "station-1" }))
        {
            await using IAsyncEnumerator<ReceivedBatch> batches =
                consumer.ReadBatchesAsync(Token).GetAsyncEnumerator(Token);
            Assert.True(await batches.MoveNextAsync());
            ValueTask<bool> step = batches.MoveNextAsync();
            await Eventually.TrueAsync(() => fake.IsParked);
            fake.Refuse(ErrorCode.MemberReplaced);

            EQueueException end = await Assert.ThrowsAsync<EQueueException>(async () => await step);
            Assert.Equal(ErrorCode.MemberReplaced, end.Code);
        }

        Assert.Equal(["join", "own 0@1"], fake.Journal);
    }

    [Fact]
    public async Task GivenConnectionsCutWithAnswersUnderWay_WhenTheMemberBeatsAgain_ThenItSaysAllAndNothingMoves()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 2, batches: 3);
        fake.Tell((0, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 5; i++)
            Assert.True(await messages.MoveNextAsync());
        await Eventually.TrueAsync(() => fake.IsParked);

        // The answer with the second queue is lost, and so is the next one.
        int losses = 1;
        fake.MeetBeat = _ => losses-- > 0 ? ErrorCode.ConnectionLost : ErrorCode.None;
        fake.CloseAll();
        fake.SetNext((0, 1), (1, 2));
        await Eventually.TrueAsync(() => fake.Journal.Contains("own 0@1 1@2"));

        List<(int, long)> rest = [];
        while (rest.Count < 25 + 30)
        {
            Assert.True(await messages.MoveNextAsync());
            rest.Add((messages.Current.Queue, messages.Current.Offset.Value));
        }

        Assert.Equal(Enumerable.Range(5, 25).Select(static i => (long)i), Of(rest, 0));
        Assert.Equal(Enumerable.Range(0, 30).Select(static i => (long)i), Of(rest, 1));
        Assert.Contains(fake.Beats, static beat => beat is { Generation.Value: not 0, Subscriptions: not null });
        Assert.DoesNotContain("own", fake.Journal);
        Assert.DoesNotContain("own 1@2", fake.Journal);
    }

    [Fact]
    public async Task GivenOlderCallThatIsFenced_WhenTheMemberBeatsAgain_ThenItGoesOn()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 2);
        fake.Tell((0, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await consumer.JoinAsync(Token);
        await Eventually.TrueAsync(() => fake.IsParked);

        fake.Refuse(ErrorCode.FencedGeneration);
        await Eventually.TrueAsync(() => fake.IsParked);
        fake.Tell((0, 1), (1, 2));
        await Eventually.TrueAsync(() => fake.Journal.Contains("own 0@1 1@2"));

        Assert.Equal(1, CountOf(fake, "join"));
        Assert.Equal(
            fake.Beats.Select(static beat => beat.Sequence).Order().Distinct(),
            fake.Beats.Select(static beat => beat.Sequence));
    }

    [Fact]
    public async Task GivenRestartedBroker_WhenClaimsHold_ThenReadingGoesOnAndCommitsNameTheNewGrants()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1, batches: 2);
        fake.Tell((0, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 5; i++)
            Assert.True(await messages.MoveNextAsync());
        await Eventually.TrueAsync(() => fake.IsParked);

        // The commit comes to the new broker before the heartbeat that makes the claim.
        fake.Epoch = 2;
        fake.SetNext((0, 700));
        fake.MeetCommit = () => fake.Beats[^1].Generation.Epoch == 2 ? ErrorCode.None : ErrorCode.UnknownMember;
        await consumer.CommitAsync(Token);

        Assert.Equal("commit 0@700=4", fake.Journal[^1]);
        Assert.Contains("commit 0@1=4", fake.Journal);
        for (int i = 5; i < 20; i++)
        {
            Assert.True(await messages.MoveNextAsync());
            Assert.Equal(i, messages.Current.Offset.Value);
        }

        Assert.Equal(1, CountOf(fake, "join"));
    }

    [Fact]
    public async Task GivenRestartedBroker_WhenAClaimDoesNotHold_ThenItsQueueIsDroppedUncommitted()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 2);
        fake.Tell((0, 1), (1, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 5; i++)
            Assert.True(await messages.MoveNextAsync());
        int kept = 1 - messages.Current.Queue;
        await Eventually.TrueAsync(() => fake.IsParked);

        fake.Epoch = 2;
        fake.SetNext((kept, 700));
        fake.CloseAll();
        await Eventually.TrueAsync(() => fake.Journal.Contains($"own {kept}@700"));
        Assert.True(await messages.MoveNextAsync());

        Assert.Equal((kept, 0L), (messages.Current.Queue, messages.Current.Offset.Value));
        Assert.True(await messages.MoveNextAsync());
        await consumer.CommitAsync(Token);
        Assert.Equal([$"commit {kept}@700=1"], fake.Journal.Where(IsCommit));
    }

    [Theory]
    [InlineData(ErrorCode.QueueNotOwned)]
    [InlineData(ErrorCode.FencedGeneration)]
    public async Task GivenQueueThatWasLost_WhenACommitFindsOut_ThenItIsDroppedAndTheBrokerIsAsked(ErrorCode error)
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1, batches: 3);
        fake.Tell((0, 1));
        fake.MeetOffset = offset => (uint)offset.Grant.Value == 1 ? error : ErrorCode.None;
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 5; i++)
            Assert.True(await messages.MoveNextAsync());

        EQueueException refusal =
            await Assert.ThrowsAsync<EQueueException>(async () => await consumer.CommitAsync(Token));
        Assert.Equal(error, refusal.Code);
        Assert.Empty(consumer.GetProgress());
        await Eventually.TrueAsync(() => fake.Journal.Contains("own"));
        fake.SetCommitted(0, 3);
        fake.Tell((0, 300));

        Assert.True(await messages.MoveNextAsync());
        Assert.Equal(3, messages.Current.Offset.Value);
        Assert.True(await messages.MoveNextAsync());
        await consumer.CommitAsync(Token);
        Assert.Equal("commit 0@300=4", fake.Journal[^1]);
    }

    [Fact]
    public async Task GivenGroupThatCommittedFurther_WhenTheMemberCommits_ThenThatCountsAsDone()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.Tell((0, 1));
        fake.MeetOffset = static _ => ErrorCode.OffsetBehind;
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 5; i++)
            Assert.True(await messages.MoveNextAsync());

        await consumer.CommitAsync(Token);
        await consumer.CommitAsync(Token);

        Assert.Equal(1, CountOf(fake, "commit 0@1=4"));
    }

    [Fact]
    public async Task GivenSeekBack_WhenTheMemberCommits_ThenNothingIsSentUntilThePlaceIsPassed()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.Tell((0, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 5; i++)
            Assert.True(await messages.MoveNextAsync());
        await consumer.CommitAsync(Token);

        await consumer.SeekAsync("t", 0, StartPosition.AtOffset(2), Token);
        Assert.True(await messages.MoveNextAsync());
        Assert.Equal(2, messages.Current.Offset.Value);
        Assert.True(await messages.MoveNextAsync());
        await consumer.CommitAsync(Token);
        Assert.Equal("commit 0@1=4", Assert.Single(fake.Journal, IsCommit));
        while (messages.Current.Offset.Value < 6)
            Assert.True(await messages.MoveNextAsync());
        await consumer.CommitAsync(Token);
        Assert.Equal("commit 0@1=6", fake.Journal[^1]);
    }

    [Fact]
    public async Task GivenProcessThatWasStopped_WhenItsSessionMayBeOver_ThenNothingIsHandedOutUntilABeatIsAnswered()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1, batches: 3);
        fake.Tell((0, 1));
        var time = new JumpingTime();
        await using var client = new EQueueClient(new ClientOptions
        {
            Addresses = fake.Address,
            TimeProvider = time,
            RequestTimeout = TimeSpan.FromHours(1),
            KeepAliveInterval = TimeSpan.FromHours(1),
        });
        await using Consumer consumer = client.CreateConsumer(
            "g", ["t"], NoTimer with { MaxFetchWait = TimeSpan.FromHours(1) });
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        for (int i = 0; i < 5; i++)
            Assert.True(await messages.MoveNextAsync());
        await Eventually.TrueAsync(() => fake.IsParked && fake.IsDrained);

        time.Jump(TimeSpan.FromSeconds(35));
        for (int i = 5; i < 10; i++)
            Assert.True(await messages.MoveNextAsync());
        ValueTask<bool> step = messages.MoveNextAsync();
        Assert.False(step.IsCompleted);

        fake.Tell((0, 1));
        for (int i = 10; i < 30; i++)
        {
            Assert.True(await step);
            Assert.Equal(i, messages.Current.Offset.Value);
            step = i < 29 ? messages.MoveNextAsync() : default;
        }
    }

    [Fact]
    public async Task GivenAnotherStoreAtTheAddress_WhenTheMemberMeetsIt_ThenTheLoopEndsAndTheNextOneJoinsAnew()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.Tell((0, 1));
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer("g", ["t"], NoTimer);
        await using (IAsyncEnumerator<ReceivedBatch> batches =
            consumer.ReadBatchesAsync(Token).GetAsyncEnumerator(Token))
        {
            Assert.True(await batches.MoveNextAsync());
            fake.StoreId = Guid.NewGuid();
            fake.CloseAll();
            EQueueException end = await Assert.ThrowsAsync<EQueueException>(async () =>
            {
                while (await batches.MoveNextAsync())
                {
                    // What was fetched before.
                }
            });
            Assert.Equal(ErrorCode.UnknownQueue, end.Code);
        }

        await foreach (ReceivedBatch batch in consumer.ReadBatchesAsync(Token))
        {
            Assert.Equal(0, batch.FirstOffset.Value);
            break;
        }
    }

    private static bool IsCommit(string one) => one.StartsWith("commit", StringComparison.Ordinal);

    private static int CountOf(FakeCoordinator fake, string what) => fake.Journal.Count(one => one == what);

    private static IEnumerable<long> Of(List<(int Queue, long Offset)> read, int queue) =>
        read.Where(one => one.Queue == queue).Select(static one => one.Offset);

    /// <summary>A clock that can jump ahead, as it seems to a process that was stopped.</summary>
    private sealed class JumpingTime : TimeProvider
    {
        private long _ahead;

        public void Jump(TimeSpan by) => Interlocked.Add(ref _ahead, (long)(by.TotalSeconds * TimestampFrequency));

        public override long GetTimestamp() => base.GetTimestamp() + Volatile.Read(ref _ahead);
    }
}
