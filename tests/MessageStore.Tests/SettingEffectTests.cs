using System.Diagnostics;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>What settings of the store do that no test of its parts shows by itself.</summary>
public sealed class SettingEffectTests : StoreTest
{
    private const int Batches = 60;
    private const int BatchSize = 8_000;

    [Theory]
    [EffectOf("Store:SegmentSizeBytes")]
    [InlineData(64 << 10, 8, 12)]
    [InlineData(256 << 10, 2, 3)]
    [InlineData(4 << 20, 1, 1)]
    public async Task GivenASegmentSize_WhenHalfAMegabyteIsAppended_ThenThatManyFilesHoldIt(
        int sizeBytes, int least, int most)
    {
        await using QueueStore store = await OpenAsync(
            Small with { SegmentSizeBytes = sizeBytes, MaxBatchBytes = 16 << 10, TailMemoryBytes = 64 << 10 });
        await FillAsync(store);
        Assert.InRange(store.Figures.Segments, least, most);
    }

    [Theory]
    [EffectOf("Store:TailMemoryBytes")]
    [InlineData(64 << 10, true)]
    [InlineData(1 << 20, false)]
    public async Task GivenTailMemory_WhenTheFirstOfManyIsRead_ThenItComesFromMemoryIfItFits(
        int tailBytes, bool needsDisk)
    {
        await using QueueStore store = await OpenAsync(
            Small with { TailMemoryBytes = tailBytes, MaxBatchBytes = 16 << 10 });
        QueueId queue = await FillAsync(store);
        var bytes = new global::System.Buffers.ArrayBufferWriter<byte>();
        Assert.Equal(needsDisk, store.Read(queue, new QueueOffset(0), BatchSize, bytes).NeedsDisk);
    }

    [Fact]
    [EffectOf("Store:PackBytesPerSecond")]
    public async Task GivenARateOfPacking_WhenWhatIsKeptMoves_ThenItTakesItsTime()
    {
        const int Rate = 64 << 10;
        const int EachNth = 8;
        await using QueueStore store = await OpenAsync(Small with
        {
            SegmentSizeBytes = 128 << 10,
            SnapshotInterval = TimeSpan.FromSeconds(1),
            PackBytesPerSecond = Rate,
        });
        QueueId kept = await OpenQueueAsync(store);
        QueueId gone = await OpenQueueAsync(store);
        for (int i = 0; i < 160; i++)
        {
            byte[] batch = TestBatch.OfSize(BatchSize, i);
            await store.AppendAsync(i % EachNth == 0 ? kept : gone, batch, Durability.Policy, Cancel);
        }

        Assert.True(store.TryGetQueue(gone, out QueueView view));
        long started = Stopwatch.GetTimestamp();
        await store.MoveStartsAsync([(gone, view.End)], Cancel);
        await Eventually(() => store.Figures.SegmentsPacked > 5);

        // At least five segments of 128 KiB gave an eighth of themselves.
        const double LeastSeconds = 5 * (128 << 10) / EachNth / (double)Rate / 2;
        Assert.InRange(Stopwatch.GetElapsedTime(started), TimeSpan.FromSeconds(LeastSeconds), TimeSpan.MaxValue);
    }

    private static async Task<QueueId> FillAsync(QueueStore store)
    {
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < Batches; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(BatchSize, i), Durability.Policy, Cancel);
        return queue;
    }
}
