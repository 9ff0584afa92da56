namespace EQueue.MessageStore.Tests;

/// <summary>An index goes on from the one before it: what a rebuilt one says of queues that are quiet in its
/// segment.</summary>
public sealed class IndexRebuildTests : StoreTest
{
    private StoreOptions Options => SmallSegments with { ScrubBytesPerSecond = 0 };

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenIndexesDamagedInARow_WhenTheLastIsRebuilt_ThenItStillKnowsTheQueuesThatAreQuietInIt(
        bool isOpen)
    {
        QueueId quiet;
        await using (QueueStore store = await OpenAsync(Options))
        {
            quiet = await OpenQueueAsync(store);
            QueueId other = await OpenQueueAsync(store);
            await AppendAsync(store, quiet, "only");
            for (int i = 0; i < 120; i++)
                await store.AppendAsync(other, TestBatch.OfSize(4_000, i), Durability.Policy, Cancel);

            // Which index a reader looks at first depends on how many there are.
            await Eventually(() => Indexes().Length == Segments().Length - 1);
        }

        State = new MemoryState();
        if (!isOpen)
            DamageIndexes();
        await using (QueueStore store = await OpenAsync(Options))
        {
            if (isOpen)
                DamageIndexes();
            Assert.Equal("only", Assert.Single(await ReadAllAsync(store, quiet)).Bodies[0]);
        }
        Assert.Empty(LogVerifier.Verify(Disk, Folder, Cancel).BadRanges);
    }

    [Fact]
    public async Task GivenADamagedIndex_WhenTheNextOneGoesOnFromIt_ThenBothAreMade()
    {
        using var isBlocked = new ManualResetEventSlim();
        var begun = new TaskCompletionSource();
        var indexes = new HashSet<string>();
        Disk.OnOpen = path =>
        {
            if (path.EndsWith(LogFiles.IndexSuffix + LogFiles.TemporarySuffix, StringComparison.Ordinal)
                && indexes.Add(path) && indexes.Count == 2)
            {
                begun.SetResult();
                isBlocked.Wait(Cancel);
            }
        };
        await using QueueStore store = await OpenAsync(Options);
        QueueId quiet = await OpenQueueAsync(store);
        QueueId other = await OpenQueueAsync(store);
        await AppendAsync(store, quiet, "first");
        for (int i = 0; !begun.Task.IsCompleted; i++)
            await store.AppendAsync(other, TestBatch.OfSize(4_000, i), Durability.Policy, Cancel);

        File.WriteAllBytes(Assert.Single(Indexes()), new byte[4_096]);
        await AppendAsync(store, quiet, "last");
        isBlocked.Set();

        await Eventually(() => Indexes().Length > 1);
        Assert.Equal(["first", "last"], (await ReadAllAsync(store, quiet)).Select(entry => entry.Bodies[0]));
        Assert.Empty(LogVerifier.Verify(Disk, Folder, Cancel).BadRanges);
    }

    /// <summary>Takes away the one that a reader looks at first, and damages the two before it where only their
    /// checksums show it.</summary>
    private void DamageIndexes()
    {
        string[] indexes = Indexes();
        int middle = indexes.Length / 2;
        Assert.True(middle > 2);
        File.Delete(indexes[middle]);
        foreach (string index in indexes[(middle - 2)..middle])
        {
            byte[] bytes = File.ReadAllBytes(index);
            bytes[SectionFileHeader.Length + 5] ^= 1;
            File.WriteAllBytes(index, bytes);
        }
    }

    private string[] Indexes() => [.. Directory.GetFiles(LogFiles.LogDirectory(Folder), "*.index").Order()];

    private string[] Segments() => Directory.GetFiles(LogFiles.LogDirectory(Folder), "*.log");
}
