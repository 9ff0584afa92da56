using System.Collections.Concurrent;
using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

/// <summary>Backups beside a store at work, and what is restored from them.</summary>
public sealed class BackupTests : BackupTest
{
    private const int MostUnderWay = 500;

    [Fact]
    public async Task GivenARunningStore_WhenBackedUpTwice_ThenSealedSegmentsAreCopiedOnceAndTheLastBackupIsRestored()
    {
        await using QueueStore store = await OpenAsync(Segmented);
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, 0, 30);
        await store.AppendStateAsync([MemoryState.Entry("round", "1")], Cancel);
        await Eventually(() => IndexFiles() == store.Figures.Segments - 1);
        BackupResult first = Write();
        Assert.Equal(0, first.FilesPresent);
        Assert.Equal(store.StoreId, first.StoreId);
        Assert.True(first.EndPosition <= store.Watermarks.Written);

        await AppendAsync(store, queue, 30, 30);
        await store.AppendStateAsync([MemoryState.Entry("round", "2")], Cancel);
        await Eventually(() => IndexFiles() == store.Figures.Segments - 1);
        BackupResult second = Write();
        Assert.InRange(second.FilesPresent, 5, 100); // the store file, two sealed segments and their indexes
        Assert.InRange(second.BytesPresent, 110_000, long.MaxValue);
        Assert.InRange(second.BytesCopied, 30 * BodySize, 30 * BodySize + (2 * (64 << 10)));

        BackupResult third = Write();
        Assert.InRange(third.BytesCopied, 0, 64 << 10); // nothing but a snapshot, if one was taken meanwhile
        await AppendAsync(store, queue, 60, 10);
        BackupResult restored = Restore();
        Assert.Equal((third.EndPosition, third.FilesPresent + third.FilesCopied), (restored.EndPosition, restored.FilesCopied));
        var state = new MemoryState();
        await using QueueStore copy = await OpenRestoredAsync(state);
        await AssertHoldsAsync(copy, queue, 60);
        Assert.Equal("2", state["round"]);
        Assert.Equal(store.StoreId, copy.StoreId);
        Assert.Empty(LogVerifier.Verify(Restored, Cancel).BadRanges);
    }

    [Theory]
    [InlineData(FlushPolicy.Sync)]
    [InlineData(FlushPolicy.Async)]
    public async Task GivenAppendsUnderWay_WhenBackedUp_ThenTheRestoreHoldsAllThatWasAcknowledgedBeforeAndNoGap(
        FlushPolicy flushPolicy)
    {
        await using QueueStore store = await OpenAsync(Small with { FlushPolicy = flushPolicy });
        QueueId[] queues = [await OpenQueueAsync(store), await OpenQueueAsync(store), await OpenQueueAsync(store)];
        var acknowledged = new ConcurrentDictionary<QueueId, int>();
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(Cancel);
        Task[] appending = [.. queues.Select(queue => Task.Run(
            async () =>
            {
                for (int i = 0; i < MostUnderWay && !stop.IsCancellationRequested; i++)
                {
                    await store.AppendAsync(queue, TestBatch.OfSize(BodySize, i), Durability.Policy, Cancel);
                    acknowledged[queue] = i + 1;
                }
            },
            Cancel))];
        await Eventually(() => queues.All(queue => acknowledged.GetValueOrDefault(queue) > 10));
        for (int round = 0; round < 3; round++)
        {
            int[] before = [.. queues.Select(queue => acknowledged[queue])];
            Write();
            Directory.CreateDirectory(Restored);
            Directory.Delete(Restored, recursive: true);
            Restore();
            await using QueueStore copy = await OpenRestoredAsync(new MemoryState());
            for (int i = 0; i < queues.Length; i++)
                await AssertHoldsAsync(copy, queues[i], before[i], orMore: true);
        }

        await stop.CancelAsync();
        await Task.WhenAll(appending);
    }

    [Fact]
    public async Task GivenSegmentsThatArePackedAndRemoved_WhenBackedUpMeanwhile_ThenEachRestoreHoldsAllThatWasKept()
    {
        StoreOptions options = Segmented with
        {
            SnapshotInterval = TimeSpan.FromSeconds(1),
            PackBytesPerSecond = 1L << 40,
        };
        await using QueueStore store = await OpenAsync(options);
        QueueId kept = await OpenQueueAsync(store), gone = await OpenQueueAsync(store);
        int count = 0;
        long deadline = Environment.TickCount64 + 60_000;
        bool hasPacked = false, hasRemoved = false;
        for (int round = 0; !(hasPacked && hasRemoved); round++)
        {
            Assert.True(Environment.TickCount64 < deadline, "nothing was packed and removed in a minute");
            for (int i = 0; i < 40; i++)
            {
                await store.AppendAsync(gone, TestBatch.OfSize(BodySize, i), Durability.Policy, Cancel);
                if (i % 8 == 0 && count < 40)
                    await store.AppendAsync(kept, TestBatch.OfSize(BodySize, count++), Durability.Policy, Cancel);
            }

            Assert.True(store.TryGetQueue(gone, out QueueView view));
            await store.MoveStartsAsync([(gone, view.End)], Cancel);
            BackupResult backup = Write();
            hasPacked |= Files(Backup).Any(name => name.Contains(".pack.", StringComparison.Ordinal));
            hasRemoved |= hasPacked && store.Figures.SegmentsRemoved + store.Figures.SegmentsPacked > 5;
            Assert.Equal(backup.FilesCopied + backup.FilesPresent, Files(Backup).Length - ManifestAndLock);
        }

        Restore();
        await using QueueStore copy = await OpenRestoredAsync(new MemoryState());
        await AssertHoldsAsync(copy, kept, count);
        Assert.True(copy.TryGetQueue(gone, out QueueView restored));
        Assert.Equal(restored.Start, restored.End);
    }

    [Fact]
    public async Task GivenAFileThatGoesBetweenListAndOpening_WhenBackedUp_ThenTheStoreIsLookedAtAgain()
    {
        QueueId queue;
        await using (QueueStore store = await OpenAsync(Segmented))
        {
            queue = await OpenQueueAsync(store);
            await AppendAsync(store, queue, 0, 30);
        }

        string second = Directory.GetFiles(LogFiles.LogDirectory(Folder), "*.log").Order().ElementAt(1);
        int missing = 1;
        Disk.OnOpen = path =>
        {
            if (path == second && missing-- > 0)
                throw new DiskException(DiskFault.NotFound, path, "open", "taken away");
        };
        BackupResult result = BackupWriter.Run(Options, Disk, Real, Cancel);
        Assert.Equal((long)Files(Backup).Length - ManifestAndLock, result.FilesCopied);
        Assert.True(missing < 1);
        Restore();
        await using QueueStore copy = await OpenRestoredAsync(new MemoryState());
        await AssertHoldsAsync(copy, queue, 30);
    }

    [Fact]
    public async Task GivenTheTornTailOfAKilledProcess_WhenBackedUp_ThenTheBackupEndsBeforeIt()
    {
        QueueId queue;
        await using (QueueStore store = await OpenAsync(Segmented))
        {
            queue = await OpenQueueAsync(store);
            await AppendAsync(store, queue, 0, 5);
            CopyFolder(Folder, Folder + "-killed");
        }

        string segment = Directory.GetFiles(LogFiles.LogDirectory(Folder + "-killed"), "*.log").Single();
        LogPosition end = LogVerifier.Verify(Folder + "-killed", Cancel).EndPosition;
        using (FileStream file = File.OpenWrite(segment))
        {
            file.Position = SegmentHeader.FileOffsetOf(end, default);
            file.Write("half of an entry that nobody was told of"u8);
        }

        BackupResult result = StoreBackup.Write(Options with { DataDirectory = Folder + "-killed" }, Cancel);
        Assert.Equal(end, result.EndPosition);
        Restore();
        await using QueueStore copy = await OpenRestoredAsync(new MemoryState());
        await AssertHoldsAsync(copy, queue, 5);
    }

    [Fact]
    public async Task GivenARestoredStoreThatWentAnotherWay_WhenItIsBackedUpToTheSamePlace_ThenItsOwnSegmentsCount()
    {
        QueueId queue;
        await using (QueueStore store = await OpenAsync(Segmented))
        {
            queue = await OpenQueueAsync(store);
            await AppendAsync(store, queue, 0, 12);
            Write();
            CopyFolder(Backup, Backup + "-older");
            await AppendAsync(store, queue, 12, 30);
            Write();
        }

        StoreBackup.Restore(Backup + "-older", Restored, null, Cancel);
        await using (QueueStore other = await OpenRestoredAsync(new MemoryState()))
        {
            await AssertHoldsAsync(other, queue, 12);
            for (int i = 0; i < 30; i++)
                await other.AppendAsync(queue, TestBatch.OfSize(BodySize, 1000 + i), Durability.Policy, Cancel);
        }

        StoreBackup.Write(Options with { DataDirectory = Restored }, Cancel);
        string again = Restored + "-again";
        StoreBackup.Restore(Backup, again, null, Cancel);
        await using QueueStore copy = await OpenAsync(Segmented with { DataDirectory = again });
        List<TestBatch.Entry> entries = await ReadAllAsync(copy, queue);
        Assert.Equal(42, entries.Count);
        Assert.Equal(BodyOf(1000), entries[12].Bodies[0]);
        Assert.Equal(BodyOf(1029), entries[41].Bodies[0]);
    }

    [Fact]
    public async Task GivenTwoStoresThatWentDifferentWaysInStep_WhenBackedUpToOnePlace_ThenTheFilesOfEachAreToldApart()
    {
        QueueId queue;
        await using (QueueStore store = await OpenAsync(Segmented))
        {
            queue = await OpenQueueAsync(store);
            await AppendAsync(store, queue, 0, 12);
            Write();
        }

        foreach (int first in new[] { 1000, 2000 })
        {
            string folder = $"{Restored}-{first}";
            StoreBackup.Restore(first == 1000 ? Backup : Backup + "-older", folder, null, Cancel);
            await using (QueueStore store = await OpenAsync(Segmented with { DataDirectory = folder }))
                await AppendAsync(store, queue, first, 30);
            if (first == 1000)
                CopyFolder(Backup, Backup + "-older");
            StoreBackup.Write(Options with { DataDirectory = folder }, Cancel);
        }

        Restore();
        await using QueueStore copy = await OpenRestoredAsync(new MemoryState());
        List<TestBatch.Entry> entries = await ReadAllAsync(copy, queue);
        Assert.Equal(
            [.. Enumerable.Range(0, 12).Select(BodyOf), .. Enumerable.Range(2000, 30).Select(BodyOf)],
            entries.Select(entry => entry.Bodies[0]));
    }
}
