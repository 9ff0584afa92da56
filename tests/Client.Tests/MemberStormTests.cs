using System.Collections.Concurrent;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Queues that come and go at random under a reader that stands at its messages for a while.</summary>
public sealed class MemberStormTests
{
    private const int Queues = 4;
    private const int Batches = 20;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(1, false)]
    [InlineData(2, false)]
    [InlineData(3, true)]
    [InlineData(0, false)]
    [InlineData(0, true)]
    public async Task GivenQueuesThatComeAndGo_WhenAllIsRead_ThenEachMessageCameOnceAndInOrder(int seed, bool inBatches)
    {
        seed = seed == 0 ? Environment.TickCount : seed;
        TestContext.Current.TestOutputHelper?.WriteLine($"seed {seed}");
        await using FakeCoordinator fake = await FakeCoordinator.StartAsync(Queues, Batches);
        var grants = new ConcurrentDictionary<int, int>();
        var wrong = new ConcurrentQueue<OffsetCommit>();
        fake.MeetOffset = offset =>
        {
            // A commit must come from the present owner: between a grant and the list without the queue.
            if (grants.TryGetValue((int)offset.Queue.Id.Value - 1, out int grant) && grant == (uint)offset.Grant.Value)
                return ErrorCode.None;
            wrong.Enqueue(offset);
            return ErrorCode.QueueNotOwned;
        };
        await using var client = new EQueueClient(fake.Address);
        await using Consumer consumer = client.CreateConsumer(
            "g", ["t"], new ConsumerOptions { AutoCommitInterval = TimeSpan.FromMilliseconds(10) });
        var read = new ConcurrentQueue<(int Queue, long Offset)>();
        using var permits = new SemaphoreSlim(0);
        using var end = CancellationTokenSource.CreateLinkedTokenSource(Token);
        var reading = Task.Run(() => ReadAsync(consumer, inBatches, read, permits, end.Token), Token);

        var random = new Random(seed);
        for (int round = 1; round <= 150; round++)
        {
            Change(fake, grants, round, mayGo: () => random.Next(3) == 0, mayCome: () => random.Next(2) == 0);
            permits.Release(random.Next(1, 20));
            await Eventually.TrueAsync(() => fake.IsSeen);
        }

        permits.Release(100_000);
        for (int round = 151; grants.Count < Queues; round++)
        {
            Change(fake, grants, round, mayGo: static () => false, mayCome: static () => true);
            await Eventually.TrueAsync(() => fake.IsSeen);
        }

        await Eventually.TrueAsync(() => read.Count >= Queues * Batches * FakeQueue.MessagesPerBatch);
        await end.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => reading);
        for (int queue = 0; queue < Queues; queue++)
        {
            Assert.Equal(
                Enumerable.Range(0, Batches * FakeQueue.MessagesPerBatch).Select(static i => (long)i),
                read.Where(one => one.Queue == queue).Select(static one => one.Offset));
        }

        Assert.Empty(wrong);
    }

    /// <summary>Takes back some queues and gives others, but none before the member has said that it let go.</summary>
    private static void Change(
        FakeCoordinator fake, ConcurrentDictionary<int, int> grants, int round, Func<bool> mayGo, Func<bool> mayCome)
    {
        IReadOnlyList<int> owned = fake.Owned;
        List<(int, int)> list = [];
        for (int queue = 0; queue < Queues; queue++)
        {
            if (grants.TryGetValue(queue, out int grant) && fake.IsTold(queue))
            {
                if (!mayGo())
                    list.Add((queue, grant));
            }
            else if (!owned.Contains(queue))
            {
                grants.TryRemove(queue, out _);
                if (mayCome())
                    list.Add((queue, grants[queue] = 100 * round));
            }
        }

        fake.Tell([.. list]);
    }

    private static async Task ReadAsync(
        Consumer consumer,
        bool inBatches,
        ConcurrentQueue<(int Queue, long Offset)> read,
        SemaphoreSlim permits,
        CancellationToken cancellationToken)
    {
        if (!inBatches)
        {
            await foreach (ReceivedMessage message in consumer.ReadAllAsync(cancellationToken))
            {
                read.Enqueue((message.Queue, message.Offset.Value));
                await permits.WaitAsync(cancellationToken);
            }
        }

        await foreach (ReceivedBatch batch in consumer.ReadBatchesAsync(cancellationToken))
        {
            for (long offset = batch.FirstOffset.Value; offset < batch.NextOffset.Value; offset++)
                read.Enqueue((batch.Queue, offset));
            await permits.WaitAsync(cancellationToken);
        }
    }
}
