using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Pulls that meet something wrong when they have messages already, or have waited long enough.</summary>
public sealed class PullFaultTests
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenMessagesInHand_WhenAnotherQueueIsDamaged_ThenTheyAreGivenAndTheNextPullThrows()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 2);
        fake.QueueError = static queue => queue == 1 ? ErrorCode.DamagedData : ErrorCode.None;
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = client.CreateReader();
        await reader.AssignAllAsync("t", StartPosition.Begin, Token);

        IReadOnlyList<DetachedMessage> pulled = await reader.PullAsync(100, Patience, Token);
        Assert.Equal(Enumerable.Range(0, 10), OffsetsOf(pulled));
        DamagedDataException damage = await Assert.ThrowsAsync<DamagedDataException>(
            async () => await reader.PullAsync(100, Patience, Token));

        Assert.Equal((1, 0L), (damage.Queue, damage.Offset.Value));
        Assert.Equal([10L, 0L], reader.GetProgress().Select(static queue => queue.Next.Value));
    }

    [Fact]
    public async Task GivenMessagesInHand_WhenTheNextBatchCannotBeDecoded_ThenTheyAreGivenAndTheNextPullsThrow()
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(3);
        fake.Tamper = static (fetch, entry) =>
            FakeQueue.ClaimCodec(entry, fetch == 1 ? (RecordCodec)7 : RecordCodec.None);
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = client.CreateReader();
        await reader.AssignAsync("t", 0, StartPosition.Begin, Token);
        await Eventually.TrueAsync(() => fake.FetchCount == 4); // three answers are at hand

        IReadOnlyList<DetachedMessage> pulled = await reader.PullAsync(100, Patience, Token);
        Assert.Equal(Enumerable.Range(0, 10), OffsetsOf(pulled));
        for (int pull = 0; pull < 2; pull++)
        {
            DamagedDataException refusal = await Assert.ThrowsAsync<DamagedDataException>(
                async () => await reader.PullAsync(100, Patience, Token));
            Assert.Equal(ErrorCode.UnsupportedCodec, refusal.Reason);
        }

        Assert.Equal(10, Assert.Single(reader.GetProgress()).Next.Value);
    }

    [Fact]
    public async Task GivenMessagesInHand_WhenReadingHasFailed_ThenTheyAreGivenAndTheNextPullThrowsOnce()
    {
        await using FakeQueue fake = await FakeQueue.StartAsync(2);
        await using var directory = new BrokerDirectory(new ClientOptions { Addresses = fake.Address });
        await using var stream = new MessageStream(directory, new ReaderOptions { StopAtEnd = true }, group: null);
        var key = new QueueKey(0, new QueueId(1));
        stream.Add(
            stream.GetSession(ServerAddress.ParseList(fake.Address)[0]),
            new QueueCursor("t", 0, key, new QueueOffset(0)));
        await Eventually.TrueAsync(() => fake.FetchCount == 3);
        stream.Owner = new FailingOwner(stream);
        var pull = new MessagePull(stream);

        Assert.Equal(Enumerable.Range(0, 20), OffsetsOf(await pull.PullAsync(100, Token)));
        EQueueException fault =
            await Assert.ThrowsAsync<EQueueException>(async () => await pull.PullAsync(100, Token));
        Assert.Equal(ErrorCode.NotAuthorized, fault.Code);

        stream.Seek(Assert.Single(stream.Cursors), new QueueOffset(10));
        Assert.Equal(Enumerable.Range(10, 10), OffsetsOf(await pull.PullAsync(100, Token)));
    }

    [Fact]
    public async Task GivenPlaceThatIsBeingLookedUp_WhenThePullHasWaitedLongEnough_ThenItEndsWithNothing()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.QueueError = static _ => ErrorCode.OffsetOutOfRange;
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = client.CreateReader();
        await reader.AssignAllAsync("t", StartPosition.AtOffset(3), Token);
        fake.IsSilentAboutOffsets = true;
        await Eventually.TrueAsync(() => fake.IsDrained);

        Assert.Empty(await reader.PullAsync(100, TimeSpan.FromMilliseconds(300), Token));
        Assert.Equal(3, Assert.Single(reader.GetProgress()).Next.Value);
    }

    [Fact]
    public async Task GivenPlaceThatIsBeingLookedUp_WhenTheTokenIsCancelled_ThenTheLoopEndsAsCancelled()
    {
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(queueCount: 1);
        fake.QueueError = static _ => ErrorCode.OffsetOutOfRange;
        fake.IsSilentAboutOffsets = true;
        await using var client = new EQueueClient(fake.Address);
        await using QueueReader reader = client.CreateReader();
        await reader.AssignAllAsync("t", StartPosition.AtOffset(3), Token);
        using var cancellation = new CancellationTokenSource();
        await using IAsyncEnumerator<ReceivedMessage> messages =
            reader.ReadAllAsync(cancellation.Token).GetAsyncEnumerator(Token);
        ValueTask<bool> step = messages.MoveNextAsync();
        await Eventually.TrueAsync(() => fake.FindCount == 1);

        await cancellation.CancelAsync();

        await Assert.ThrowsAnyAsync<OperationCanceledException>(async () => await step);
    }

    private static IEnumerable<int> OffsetsOf(IEnumerable<DetachedMessage> messages) =>
        messages.Select(static message => (int)message.Offset.Value);

    /// <summary>Reading fails when nothing is at hand any more, which is when it is asked.</summary>
    private sealed class FailingOwner(MessageStream stream) : IStreamOwner
    {
        private int _failures;

        public bool IsSettled
        {
            get
            {
                if (_failures++ == 0)
                    stream.Fail(new EQueueException(ErrorCode.NotAuthorized));
                return false;
            }
        }

        public void OnQueueGone(QueueCursor cursor) => throw new InvalidOperationException();

        public void OnCommitDue()
        {
            // Nothing is committed.
        }
    }
}
