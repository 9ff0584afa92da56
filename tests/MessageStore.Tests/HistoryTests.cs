using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>The store knows which openings wrote its log and where each began, whatever it was opened from.</summary>
public sealed class HistoryTests
{
    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    private SimulatedDisk _disk = new();

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenSeveralOpeningsWithMessages_WhenOpenedAgain_ThenEachIsKnownWithItsStart(bool isClean)
    {
        var histories = new List<LogHistory>();
        for (int opening = 1; opening <= 4; opening++)
        {
            QueueStore store = await OpenAsync();
            histories.Add(store.History);
            Assert.Equal(opening, store.History.Epochs.Count);
            Assert.Equal(opening, store.Epoch);
            Assert.Equal(opening, store.History.Opening.Epoch);
            Assert.NotEqual(0u, store.History.Opening.Mark);
            QueueId queue = await QueueOfAsync(store);
            QueueOffset end = await store.FindOffsetAtAsync(
                queue, new LogPosition(store.History.Epochs[^1].Start), Cancel);
            Assert.Equal(3 * (opening - 1), end.Value);
            await AppendAsync(store, queue, 3);
            await EndAsync(store, isClean);
        }

        for (int i = 1; i < histories.Count; i++)
        {
            Assert.Equal(histories[i - 1].Epochs, histories[i].Epochs.SkipLast(1));
            Assert.Equal(histories[i].Epochs[^1].Start, histories[i].ForkFrom(histories[i - 1]));
        }
    }

    [Fact]
    public async Task GivenOpeningsWithoutAMessage_WhenOpenedAgain_ThenTheyAreToldAsWell()
    {
        QueueStore store = await OpenAsync();
        await AppendAsync(store, await QueueOfAsync(store), 1);
        for (int i = 0; i < 5; i++)
        {
            await EndAsync(store, isClean: i % 2 == 0);
            store = await OpenAsync();
        }

        Assert.Equal(Enumerable.Range(1, 6), store.History.Epochs.Select(epoch => epoch.Mark.Epoch));
        await store.DisposeAsync();
    }

    [Fact]
    public async Task GivenOneDirectoryOpenedTwice_WhenTheEpochsAreEqual_ThenTheirMarksAreNot()
    {
        QueueStore store = await OpenAsync();
        await AppendAsync(store, await QueueOfAsync(store), 1);
        await EndAsync(store, isClean: false);
        SimulatedDisk copy = _disk.Copy();
        store = await OpenAsync();
        HistoryMark one = store.History.Opening;
        await store.DisposeAsync();
        _disk = copy;
        store = await OpenAsync();
        Assert.Equal(one.Epoch, store.History.Opening.Epoch);
        Assert.NotEqual(one.Mark, store.History.Opening.Mark);
        await store.DisposeAsync();
    }

    [Fact]
    public async Task GivenSealedSegments_WhenAPlaceAtAnEpochIsAskedFor_ThenTheIndexTellsIt()
    {
        var ends = new List<long>();
        QueueId queue = default;
        for (int opening = 0; opening < 4; opening++)
        {
            QueueStore opened = await OpenAsync();
            queue = await QueueOfAsync(opened);
            ends.Add(opened.TryGetQueue(queue, out QueueView view) ? view.End.Value : 0);
            await AppendAsync(opened, queue, 90, bodySize: 900);
            await EndAsync(opened, isClean: true);
        }

        await using QueueStore store = await OpenAsync();
        Assert.True(store.Figures.Segments > 4);
        for (int i = 0; i < ends.Count; i++)
        {
            var start = new LogPosition(store.History.Epochs[i].Start);
            Assert.Equal(ends[i], (await store.FindOffsetAtAsync(queue, start, Cancel)).Value);
        }

        await store.MoveStartsAsync([(queue, new QueueOffset(ends[2] + 1))], Cancel);
        var old = new LogPosition(store.History.Epochs[1].Start);
        Assert.Equal(ends[2] + 1, (await store.FindOffsetAtAsync(queue, old, Cancel)).Value);
        await Assert.ThrowsAsync<EQueueException>(
            async () => await store.FindOffsetAtAsync(new QueueId(99), old, Cancel));
    }

    [Fact]
    public async Task GivenMoreOpeningsThanAreKept_WhenOpened_ThenTheNewestAreKnown()
    {
        QueueStore store = await OpenAsync();
        for (int i = 0; i < EpochList.Most + 4; i++)
        {
            await AppendAsync(store, await QueueOfAsync(store), 1);
            await EndAsync(store, isClean: i % 2 == 0);
            store = await OpenAsync();
        }

        Assert.Equal(EpochList.Most, store.History.Epochs.Count);
        Assert.Equal(store.Epoch, store.History.Opening.Epoch);
        Assert.True(store.History.Epochs.Count <= LogHistory.MaxEpochs);
        await store.DisposeAsync();
    }

    private static async Task<QueueId> QueueOfAsync(QueueStore store) => store.Queues.Any()
        ? store.Queues.Single().Id
        : (await store.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel))[0];

    private static async Task AppendAsync(QueueStore store, QueueId queue, int count, int bodySize = 5)
    {
        for (int i = 0; i < count; i++)
            await store.AppendAsync(queue, TestBatch.Of(new string('m', bodySize)), Durability.Durable, Cancel);
    }

    private Task<QueueStore> OpenAsync() => QueueStore.OpenAsync(
        new StoreOptions
        {
            DataDirectory = "/h",
            Disk = _disk,
            SegmentSizeBytes = StoreOptions.SmallestSegmentBytes,
            TailMemoryBytes = 64 << 10,
            MaxBatchBytes = 8 << 10,
            ReserveBytes = 0,
        },
        new MemoryState(),
        NullLoggerFactory.Instance,
        TimeProvider.System,
        Cancel);

    private async Task EndAsync(QueueStore store, bool isClean)
    {
        SimulatedDisk left = _disk.Copy();
        await store.DisposeAsync();
        if (!isClean)
            _disk = left;
    }
}
