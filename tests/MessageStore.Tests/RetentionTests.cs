using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

public sealed class RetentionTests : StoreTest
{
    private const int BodySize = 20_000;

    private readonly ManualTime _time = new(1_700_000_000_000);

    public RetentionTests() => Time = _time;

    private StoreOptions Tiny => Small with
    {
        SegmentSizeBytes = 128 << 10,
        SnapshotInterval = TimeSpan.FromSeconds(1),
        FlushPolicy = FlushPolicy.Async,
        FlushInterval = TimeSpan.FromMilliseconds(1),
    };

    [Fact]
    public async Task GivenAStart_WhenMoved_ThenWhatIsBeforeIsOutOfRangeAlsoAfterAReopening()
    {
        await using (QueueStore store = await OpenAsync())
        {
            QueueId queue = await OpenQueueAsync(store);
            for (int i = 0; i < 10; i++)
                await AppendAsync(store, queue, "a", "b");
            Assert.Equal(1, await store.MoveStartsAsync([(queue, new QueueOffset(8))], Cancel));
            Assert.Equal(0, await store.MoveStartsAsync([(queue, new QueueOffset(4))], Cancel));
            await AssertBeginsAsync(store, queue, 8);
        }

        await using (QueueStore store = await OpenAsync())
            await AssertBeginsAsync(store, store.Queues.Single().Id, 8);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenStartsInsideBatches_WhenMovedStepByStep_ThenABatchCountsUntilItsLastMessageIsPassed(
        bool isSealed)
    {
        await using QueueStore store = await OpenAsync(isSealed ? Tiny : Small);
        QueueId queue = await OpenQueueAsync(store);
        QueueId other = await OpenQueueAsync(store);
        for (int i = 0; i < 5; i++)
            await AppendAsync(store, queue, "a", "b", "c");
        for (int i = 0; isSealed && i < 20; i++)
            await AppendBodyAsync(store, other, i);
        long whole = View(store, queue).Bytes;
        for (int start = 1; start <= 15; start++)
        {
            Assert.Equal(whole / 5, await store.SumBytesAsync(
                queue, new QueueOffset((start - 1) / 3 * 3), new QueueOffset(((start - 1) / 3 * 3) + 3), Cancel));
            await store.MoveStartsAsync([(queue, new QueueOffset(start))], Cancel);
            Assert.Equal(whole / 5 * (5 - (start / 3)), View(store, queue).Bytes);
        }
    }

    [Fact]
    public async Task GivenAStartBeyondTheEnd_WhenMoved_ThenItIsTheEndAndTheQueueGoesOn()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "a", "b");
        await store.MoveStartsAsync([(queue, new QueueOffset(99)), (new QueueId(77), new QueueOffset(1))], Cancel);
        await AssertBeginsAsync(store, queue, 2);
        Assert.Equal(2, await AppendAsync(store, queue, "c"));
        Assert.Single(await ReadAllAsync(store, queue, from: 2));
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenLimits_WhenApplied_ThenEachKeepsWhatItSays(bool isSealed)
    {
        await using QueueStore store = await OpenAsync(isSealed ? Tiny : Small);
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 30; i++)
        {
            await AppendBodyAsync(store, queue, i);
            _time.UnixMs += 1_000;
        }

        long size = View(store, queue).Bytes / 30;
        await ApplyAsync(store, new RetentionLimits(KeepFrom: new QueueOffset(0), Count: 1));
        await AssertBeginsAsync(store, queue, 0);
        await ApplyAsync(store, new RetentionLimits(Count: 28));
        await AssertBeginsAsync(store, queue, 2);
        await ApplyAsync(store, new RetentionLimits(Age: TimeSpan.FromSeconds(25)));
        await AssertBeginsAsync(store, queue, 5);
        await ApplyAsync(store, new RetentionLimits(Age: TimeSpan.FromSeconds(25)));
        await AssertBeginsAsync(store, queue, 5);
        await ApplyAsync(store, new RetentionLimits(Bytes: (size * 10) + 1));
        await AssertBeginsAsync(store, queue, 20);
        Assert.InRange(View(store, queue).Bytes, size * 10, (size * 10) + 100);
        await ApplyAsync(store, new RetentionLimits(Bytes: size * 100, Count: 100, Age: TimeSpan.FromDays(1)));
        await AssertBeginsAsync(store, queue, 20);
        await ApplyAsync(store, new RetentionLimits(Age: TimeSpan.FromMilliseconds(999)));
        await AssertBeginsAsync(store, queue, 30);
        Assert.Equal(0, View(store, queue).Bytes);
    }

    [Fact]
    public async Task GivenDeadSegments_WhenTwoSnapshotsAreBehindThem_ThenTheirFilesGoAndTheRestIsReadAfterAReopening()
    {
        long begin;
        await using (QueueStore store = await OpenAsync(Tiny))
        {
            QueueId queue = await OpenQueueAsync(store);
            QueueId other = await OpenQueueAsync(store);
            for (int i = 0; i < 60; i++)
                await AppendBodyAsync(store, i % 10 == 0 ? other : queue, i);
            Assert.InRange(store.Figures.Segments, 9, 20);
            await store.MoveStartsAsync([(queue, View(store, queue).End), (other, new QueueOffset(5))], Cancel);
            await AppendUntilAsync(store, queue, () => store.Figures.SegmentsRemoved >= 6);
            begin = store.Watermarks.Begin.Value;
            Assert.InRange(begin, 1, store.Watermarks.Durable.Value);
            await AssertBeginsAsync(store, other, 5);
            Assert.Single(await ReadAllAsync(store, other, from: 5));
        }

        LogPosition oldest = LogFiles.Find(Disk, LogFiles.LogDirectory(Folder), LogFiles.SegmentSuffix)[0];
        Assert.True(oldest.Value >= begin, $"the log begins at {oldest}, not behind {begin}");
        Assert.Empty(LogVerifier.Verify(Disk, Folder, Cancel).BadRanges);
        await using (QueueStore store = await OpenAsync(Tiny))
        {
            QueueId other = store.Queues.Last().Id;
            await AssertBeginsAsync(store, other, 5);
            Assert.Single(await ReadAllAsync(store, other, from: 5));
            Assert.Equal(6, View(store, other).End.Value);
        }
    }

    [Fact]
    [EffectOf("Store:MaxLogBytes")]
    public async Task GivenALogBeyondItsBound_WhenApplied_ThenTheOldestOfAllQueuesGo()
    {
        await using QueueStore store = await OpenAsync(Tiny with { MaxLogBytes = 512 << 10 });
        QueueId first = await OpenQueueAsync(store);
        QueueId second = await OpenQueueAsync(store);
        long deadline = Environment.TickCount64 + 30_000;
        for (int i = 0; store.Figures.SegmentsRemoved < 10; i++)
        {
            Assert.True(Environment.TickCount64 < deadline, "the oldest segments were not removed in 30 s");
            await AppendBodyAsync(store, first, i);
            await AppendBodyAsync(store, second, i);
            await ApplyAsync(store, default);
        }

        foreach (QueueId queue in (QueueId[])[first, second])
        {
            QueueView view = View(store, queue);
            Assert.InRange(view.Start.Value, 1, view.End.Value - 1);
            Assert.Equal(
                view.End.Value - view.Start.Value,
                (await ReadAllAsync(store, queue, view.Start.Value)).Sum(entry => entry.Count));
        }
    }

    [Fact]
    public async Task GivenASegmentSealedByAge_WhenDurable_ThenItsUnusedRoomIsGivenBack()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "a");
        _time.UnixMs += 7_200_000;
        await AppendUntilAsync(store, queue, () => store.Figures.Segments == 2);
        string folder = LogFiles.LogDirectory(Folder);
        long used = SegmentHeader.Length + LogFiles.Find(Disk, folder, LogFiles.SegmentSuffix)[1].Value;
        await Eventually(() => Disk.List(folder)
            .Any(file => file.Name == "00000000000000000000.log" && file.Size == used));
        Assert.Equal(View(store, queue).End.Value, (await ReadAllAsync(store, queue)).Sum(entry => entry.Count));
    }

    private static QueueView View(QueueStore store, QueueId queue)
    {
        Assert.True(store.TryGetQueue(queue, out QueueView view));
        return view;
    }

    private static Task<int> ApplyAsync(QueueStore store, RetentionLimits limits) =>
        store.ApplyRetentionAsync(_ => limits, Cancel);

    private static async Task AppendBodyAsync(QueueStore store, QueueId queue, int seed) =>
        await store.AppendAsync(queue, TestBatch.OfSize(BodySize, seed), Durability.Policy, Cancel);

    /// <summary>State changes make snapshots, and snapshots let segments go.</summary>
    private static async Task AppendUntilAsync(
        QueueStore store, QueueId queue, Func<bool> condition)
    {
        long deadline = Environment.TickCount64 + 30_000;
        for (int i = 0; !condition(); i++)
        {
            Assert.True(Environment.TickCount64 < deadline, "the condition was not met in 30 s");
            await AppendBodyAsync(store, queue, i);
        }
    }

    private static async Task AssertBeginsAsync(QueueStore store, QueueId queue, long start)
    {
        Assert.Equal(start, View(store, queue).Start.Value);
        if (start > 0)
            Assert.Equal(ErrorCode.OffsetOutOfRange, (await ReadAsync(store, queue, start - 1)).Result.Error);
        Assert.Equal(ErrorCode.None, (await ReadAsync(store, queue, start)).Result.Error);
    }
}
