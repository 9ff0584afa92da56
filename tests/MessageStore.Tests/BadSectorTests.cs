namespace EQueue.MessageStore.Tests;

/// <summary>Files that stand there whole but for a sector that the device cannot read.</summary>
public sealed class BadSectorTests : StoreTest
{
    private const int Batches = 60;
    private const int Section = SectionFileHeader.Length + 5;

    [Theory]
    [InlineData(0)]
    [InlineData(Section)]
    public async Task GivenABadSectorInTheNewestSnapshot_WhenOpened_ThenTheOneBeforeItIsLoaded(long sector)
    {
        QueueId queue = await LiveAsync();
        string[] snapshots = Files(LogFiles.SnapshotSuffix);
        Assert.Equal(2, snapshots.Length);
        Break(snapshots[^1], sector);
        await using QueueStore store = await OpenAsync(SmallSegments);
        Assert.False(File.Exists(snapshots[^1]));
        await CheckWholeAsync(store, queue);
    }

    [Theory]
    [InlineData(false, false)]
    [InlineData(false, true)]
    [InlineData(true, false)]
    [InlineData(true, true)]
    public async Task GivenABadSectorInAnIndex_WhenOpenedAndRead_ThenItIsRebuiltAndEverythingIsServed(
        bool isInDirectory, bool isOpen)
    {
        QueueId queue = await LiveAsync();
        string index = Files(LogFiles.IndexSuffix)[0];
        long sector = isInDirectory ? new FileInfo(index).Length - 10 : 0;
        if (!isOpen)
            Break(index, sector);
        await using QueueStore store = await OpenAsync(SmallSegments);
        if (isOpen)
            Break(index, sector);
        await CheckWholeAsync(store, queue);
    }

    [Fact]
    public async Task GivenABadSectorInWhatIsReplayed_WhenOpened_ThenItIsRefusedAndNothingIsGuessed()
    {
        QueueId queue = await LiveAsync();
        Break(Files(LogFiles.SegmentSuffix)[^1], Segment.HeaderSize + 5);
        DiskException refusal = await Assert.ThrowsAsync<DiskException>(() => OpenAsync(SmallSegments));
        Assert.Equal(DiskFault.Io, refusal.Fault);
        Disk.OnRead = null;
        State = new MemoryState();
        await using QueueStore store = await OpenAsync(SmallSegments);
        await CheckWholeAsync(store, queue);
    }

    /// <summary>A state record before each batch; an orderly stop at the end.</summary>
    private async Task<QueueId> LiveAsync()
    {
        QueueId queue;
        await using (QueueStore store = await OpenAsync(SmallSegments))
        {
            queue = await OpenQueueAsync(store);
            for (int i = 0; i < Batches; i++)
            {
                await store.AppendStateAsync([MemoryState.Entry("round", $"{i}")], Cancel);
                await store.AppendAsync(queue, TestBatch.OfSize(4_000, i), Durability.Policy, Cancel);
            }
        }
        State = new MemoryState();
        return queue;
    }

    private async Task CheckWholeAsync(QueueStore store, QueueId queue)
    {
        Assert.Equal($"{Batches - 1}", State["round"]);
        Assert.Equal(
            Enumerable.Range(0, Batches).Select(i => (long)i),
            (await ReadAllAsync(store, queue)).Select(entry => entry.FirstOffset));
    }

    private string[] Files(string suffix) =>
        [.. Directory.GetFiles(LogFiles.LogDirectory(Folder), "*" + suffix).Order(StringComparer.Ordinal)];
}
