namespace EQueue.MessageStore.Tests;

/// <summary>Looking at a log from outside: whole, live, absent.</summary>
public sealed class VerifyAndInspectTests : StoreTest
{
    [Fact]
    public async Task GivenAStoreInUse_WhenVerified_ThenItIsWholeAndNothingIsWritten()
    {
        await using QueueStore store =
            await OpenAsync(Small with { SegmentSizeBytes = 64 << 10, MaxBatchBytes = 16 << 10 });
        QueueId queue = await OpenQueueAsync(store);
        using var stop = CancellationTokenSource.CreateLinkedTokenSource(Cancel);
        long appended = 0;
        var appending = Task.Run(
            async () =>
            {
                while (!stop.IsCancellationRequested)
                {
                    await AppendAsync(store, queue, new string('m', 500), "second");
                    Interlocked.Add(ref appended, 2);
                }
            },
            Cancel);
        for (int round = 0; round < 20; round++)
        {
            long before = Interlocked.Read(ref appended);
            LogVerification found = LogVerifier.Verify(Folder, Cancel);
            Assert.Empty(found.BadRanges);
            Assert.True(found.Messages >= before);
        }

        await stop.CancelAsync();
        await appending;
        LogVerification last = LogVerifier.Verify(Folder, Cancel);
        Assert.Equal(appended, last.Messages);
        Assert.Equal(store.Watermarks.Written, last.EndPosition);
        Assert.Equal(store.Watermarks.Begin, last.FirstPosition);
        Assert.Equal(store.Figures.Segments, last.Segments);
    }

    [Fact]
    public async Task GivenALiveStore_WhenItTakesASegmentAwayMeanwhile_ThenTheRestIsLookedAtAndNothingIsCalledDamaged()
    {
        await using QueueStore store =
            await OpenAsync(Small with { SegmentSizeBytes = 64 << 10, MaxBatchBytes = 16 << 10 });
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 60; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(4_000, i), Durability.Policy, Cancel);
        string gone = Directory.GetFiles(Path.Combine(Folder, "logs", "0"), "*.log").Order().ElementAt(1);
        int missing = 1;
        var disk = new GatedDisk
        {
            OnOpen = path =>
            {
                if (path == gone && missing-- > 0)
                    throw new DiskException(DiskFault.NotFound, path, "open", "taken away");
            },
        };
        LogVerification found = LogVerifier.Verify(disk, Folder, Cancel);
        Assert.Empty(found.BadRanges);
        Assert.Equal(60, found.Messages);

        var inspector = LogInspector.Open(disk, Folder);
        missing = 1;
        var entries = new List<EntrySummary>();
        inspector.ReadEntries(default, Keep, Cancel);
        Assert.InRange(entries.Count(entry => entry.Kind == EntryKind.Messages), 30, 59);

        bool Keep(EntrySummary entry)
        {
            entries.Add(entry);
            return true;
        }
    }

    [Fact]
    public async Task GivenAStore_WhenInspected_ThenSegmentsSnapshotsAndEntriesAreShown()
    {
        QueueId queue;
        Guid id;
        await using (QueueStore store =
            await OpenAsync(Small with { SegmentSizeBytes = 64 << 10, MaxBatchBytes = 16 << 10 }))
        {
            id = store.StoreId;
            queue = await OpenQueueAsync(store);
            for (int i = 0; i < 20; i++)
                await store.AppendAsync(queue, TestBatch.OfSize(8_000, i), Durability.Policy, Cancel);
        }

        var inspector = LogInspector.Open(Folder);
        Assert.Equal(id, inspector.StoreId);
        SegmentSummary[] segments = [.. inspector.Segments];
        Assert.True(segments.Length >= 3);
        Assert.All(segments, segment => Assert.True(segment.IsHeaderWhole));
        Assert.All(segments[..^1], segment => Assert.True(segment.IsIndexWhole));
        Assert.Null(segments[^1].IsIndexWhole);
        Assert.All(inspector.Snapshots, snapshot => Assert.True(snapshot.IsWhole));

        var entries = new List<EntrySummary>();
        inspector.ReadEntries(
            default,
            entry =>
            {
                entries.Add(entry);
                return true;
            },
            Cancel);
        Assert.Equal(
            Enumerable.Range(0, 20).Select(i => (long)i),
            entries.Where(entry => entry.Queue == queue).Select(entry => entry.FirstOffset.Value));
        Assert.Equal(segments.Length - 1, entries.Count(entry => entry.Kind == EntryKind.Seal));
        Assert.Equal(EntryKind.EpochStart, entries[0].Kind);
        EntrySummary tenth = entries[10];
        inspector.ReadEntries(
            tenth.Position,
            entry =>
            {
                Assert.Equal(tenth, entry);
                return false;
            },
            Cancel);
    }

    [Fact]
    public void GivenAFolderWithoutAStore_WhenLookedAt_ThenItSaysSo()
    {
        Directory.CreateDirectory(Folder);
        StoreFormatException exception = Assert.Throws<StoreFormatException>(() => LogVerifier.Verify(Folder, Cancel));
        Assert.Contains("no store", exception.Message, StringComparison.Ordinal);
        Assert.Throws<StoreFormatException>(() => LogInspector.Open(Folder));
        Assert.Empty(Directory.GetFileSystemEntries(Folder));
    }
}
