using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>Files that go away and calls that hang while a store runs.</summary>
public sealed class SickDiskTests : StoreTest
{
    private const int Bodies = 60;

    private readonly CollectedLog _log = new();

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenASegmentThatIsGone_WhenRead_ThenEachQueueIsToldWhatIsLostAndTheRestIsServed(bool withIndex)
    {
        await using QueueStore store = await OpenLoggedAsync(SmallSegments);
        QueueId[] queues = [await OpenQueueAsync(store), await OpenQueueAsync(store)];
        await FillAsync(store, queues);
        string[] files = SealedFiles();
        Remove(files[2], withIndex);

        foreach (QueueId queue in queues)
        {
            (int read, int lost) = await CountAsync(store, queue);
            Assert.InRange(lost, 1, 4);
            Assert.Equal(Bodies, read + lost);
        }

        Assert.Equal(1, store.Figures.SegmentsLost);
        Assert.Equal(1, _log.CountOf(2220));
        await AppendAsync(store, queues[0], "it goes on");
        await store.ApplyRetentionAsync(_ => new RetentionLimits(Count: 1), Cancel);
        Assert.Equal(1, (await CountAsync(store, queues[0])).Read);
    }

    [Fact]
    public async Task GivenTheOldestSegmentIsGone_WhenTheCleanerComesBy_ThenItCountsAsLostUntilRetentionIsPastIt()
    {
        await using QueueStore store = await OpenLoggedAsync(
            SmallSegments with { SnapshotInterval = TimeSpan.FromSeconds(1) });
        QueueId[] queues = [await OpenQueueAsync(store), await OpenQueueAsync(store)];
        await FillAsync(store, queues);
        Remove(SealedFiles()[0], withIndex: true);
        Assert.NotEqual(0, (await CountAsync(store, queues[0])).Lost);
        // A start that moves wakes the cleaner and is state for a snapshot; the second of them lets the segment go.
        long enough = store.Figures.Snapshots + 3;
        for (int start = 1; store.Figures.Snapshots < enough; start++)
        {
            await store.MoveStartsAsync([(queues[1], new QueueOffset(Math.Min(start, Bodies - 1)))], Cancel);
            await Support.Eventually.PassedAsync(TimeSpan.FromMilliseconds(100));
            Assert.Equal(1, store.Figures.SegmentsLost);
        }

        Assert.NotEqual(0, (await CountAsync(store, queues[0])).Lost);
        await store.ApplyRetentionAsync(_ => new RetentionLimits(Count: 1), Cancel);
        await Eventually(() => store.Figures.SegmentsLost == 0);
        Assert.Equal((1, 0), await CountAsync(store, queues[0]));
    }

    [Fact]
    public async Task GivenTheOldestSegmentIsGone_WhenStartsMovePastItUnread_ThenTheCleanerRemovesIt()
    {
        await using QueueStore store = await OpenLoggedAsync(
            SmallSegments with { SnapshotInterval = TimeSpan.FromSeconds(1) });
        QueueId[] queues = [await OpenQueueAsync(store), await OpenQueueAsync(store)];
        await FillAsync(store, queues);
        Remove(SealedFiles()[0], withIndex: true);
        await store.MoveStartsAsync([(queues[0], new QueueOffset(Bodies))], Cancel);
        for (int start = Bodies / 2; store.Figures.SegmentsRemoved == 0; start++)
        {
            Assert.InRange(start, 0, Bodies + 600);
            await AppendAsync(store, queues[1], "a");
            await store.MoveStartsAsync([(queues[1], new QueueOffset(start))], Cancel);
            await Support.Eventually.PassedAsync(TimeSpan.FromMilliseconds(100));
        }

        await Eventually(() => store.Figures.SegmentsLost == 0);
    }

    [Fact]
    public async Task GivenASegmentThatIsGone_WhenTheNextIndexFollowsItUnread_ThenItIsWritten()
    {
        await using QueueStore store = await OpenLoggedAsync(SmallSegments);
        QueueId idle = await OpenQueueAsync(store);
        QueueId busy = await OpenQueueAsync(store);
        using var gate = new Gate();
        int begun = 0;
        Disk.OnOpen = path =>
        {
            if (!path.EndsWith(LogFiles.IndexSuffix + LogFiles.TemporarySuffix, StringComparison.Ordinal))
                return;
            gate.Pass();
            // What the idle queue was last is asked of the index before.
            if (++begun == 2)
                Remove(SealedFiles()[0], withIndex: true);
        };
        gate.Shut();
        await AppendAsync(store, idle, "first");
        for (int i = 0; store.Figures.Segments < 5; i++)
            await store.AppendAsync(busy, TestBatch.OfSize(8_000, i), Durability.Policy, Cancel);
        await AppendAsync(store, idle, "last");
        gate.Open();

        await Eventually(() => SealedFiles().Length == 3);
        Assert.Equal(1, store.Figures.SegmentsLost);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(2)]
    public async Task GivenASegmentThatIsGone_WhenMessagesGoForTheirAge_ThenTheLostStayUntilTheNextOneIsTooOld(int gone)
    {
        var time = new ManualTime(1_700_000_000_000);
        Time = time;
        await using QueueStore store = await OpenLoggedAsync(SmallSegments);
        QueueId queue = await OpenQueueAsync(store);
        await FillAsync(store, [queue], () => time.UnixMs += 1_000);
        Remove(SealedFiles()[gone], withIndex: true);
        (long from, long to) = await FindLossAsync(store, queue);
        Assert.Equal(gone == 0, from == 0);

        // What was stored in the second of the first message that is young enough stays.
        foreach ((long young, long start) in new[] { (from, from), (to - 1, from), (to, from), (to + 1, to + 1) })
        {
            var age = TimeSpan.FromSeconds(Bodies - young);
            await store.ApplyRetentionAsync(_ => new RetentionLimits(Age: age), Cancel);
            Assert.True(store.TryGetQueue(queue, out QueueView view));
            Assert.Equal(start, view.Start.Value);
        }
    }

    [Fact]
    public async Task GivenAFileThatCannotBeOpened_WhenRead_ThenItsMessagesAreLostAndTheRestIsServed()
    {
        await using QueueStore store = await OpenLoggedAsync(SmallSegments);
        QueueId queue = await OpenQueueAsync(store);
        await FillAsync(store, [queue]);
        string bad = SealedFiles()[2];
        Disk.OnOpen = path =>
        {
            if (path == bad)
                throw new DiskException(DiskFault.Io, path, "open", "input/output error");
        };

        (int read, int lost) = await CountAsync(store, queue);

        Assert.InRange(lost, 1, 8);
        Assert.Equal(Bodies, read + lost);
    }

    [Fact]
    public async Task GivenASectorThatCannotBeRead_WhenItsMessagesAreRead_ThenTheyAreLostAndTheRestIsServed()
    {
        await using QueueStore store = await OpenLoggedAsync(SmallSegments);
        QueueId[] queues = [await OpenQueueAsync(store), await OpenQueueAsync(store)];
        await FillAsync(store, queues);
        string bad = SealedFiles()[2];
        Disk.OnRead = (path, offset, size) =>
        {
            if (path == bad && offset + size > 20_000 && offset <= 20_000)
                throw new DiskException(DiskFault.Io, path, "pread", "input/output error");
        };

        (int Read, int Lost)[] counts = [await CountAsync(store, queues[0]), await CountAsync(store, queues[1])];

        // The sector lies in one message of one of the two queues.
        Assert.Equal(1, counts.Sum(count => count.Lost));
        Assert.Equal((2 * Bodies) - 1, counts.Sum(count => count.Read));
        Assert.Equal(0, store.Figures.SegmentsLost);
        Assert.Equal(1, _log.CountOf(2008));
        await AppendAsync(store, queues[0], "it goes on");
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenADataDirectoryThatIsRemoved_WhenASecondHasPassed_ThenNothingIsAcknowledgedAnyMore(
        bool isMadeAnew)
    {
        QueueStore store = await OpenLoggedAsync(Small);
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "a");

        Directory.Delete(Folder, recursive: true);
        if (isMadeAnew)
            Directory.CreateDirectory(LogFiles.LogDirectory(Folder));

        EQueueException fault = await Assert.ThrowsAsync<EQueueException>(
            () => store.Completion.WaitAsync(TimeSpan.FromSeconds(30), Cancel));
        Assert.Equal(ErrorCode.StoreFaulted, fault.Code);
        Assert.Contains("the data directory was removed or moved", fault.Message, StringComparison.Ordinal);
        await FailsAsync(ErrorCode.StoreFaulted, AppendAsync(store, queue, "b"));
        // Closing a failed store may fail again, as the disk lets it.
        await Record.ExceptionAsync(async () => await store.DisposeAsync());
        Directory.CreateDirectory(Folder);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenADiskThatHangs_WhenSecondsPass_ThenTheStoreSaysSoAndAgainWhenItGoesOn(bool isWrite)
    {
        var time = new SteppedTime();
        Time = time;
        using var gate = new Gate();
        await using QueueStore store = await OpenLoggedAsync(Small);
        QueueId queue = await OpenQueueAsync(store);
        if (isWrite)
            Disk.OnWrite = (_, _) => gate.Pass();
        else
            Disk.OnSync = _ => gate.Pass();
        gate.Shut();
        Task append = AppendAsync(store, queue, "a");
        await gate.Reached.WaitAsync(Cancel);
        Assert.False(store.Figures.IsStalled);

        time.MoveTo(time.Now + TimeSpan.FromSeconds(6));
        await Eventually(() =>
        {
            time.MoveTo(time.Now + TimeSpan.FromSeconds(1));
            return store.Figures.IsStalled && _log.CountOf(2221) == 1;
        });
        Assert.InRange(store.Figures.OldestDiskCallMs, 5_000, long.MaxValue);

        gate.Open();
        await append;
        await Eventually(() =>
        {
            time.MoveTo(time.Now + TimeSpan.FromSeconds(1));
            return !store.Figures.IsStalled && _log.CountOf(2222) == 1;
        });
    }

    private async Task FillAsync(QueueStore store, QueueId[] queues, Action? afterEach = null)
    {
        for (int i = 0; i < Bodies; i++)
        {
            foreach (QueueId queue in queues)
                await store.AppendAsync(queue, TestBatch.OfSize(8_000, i), Durability.Policy, Cancel);
            afterEach?.Invoke();
        }

        // Indexes come a moment after their segments.
        await Eventually(() => store.Figures.Segments >= 8 && SealedFiles().Length >= 6);
    }

    /// <summary>The first range of offsets that a reader is told is lost.</summary>
    private static async Task<(long From, long To)> FindLossAsync(QueueStore store, QueueId queue)
    {
        for (long from = 0; ;)
        {
            ReadResult result = (await ReadAsync(store, queue, from, 20_000)).Result;
            if (result.Error == ErrorCode.DamagedData)
                return (from, result.NextOffset.Value);
            Assert.Equal(ErrorCode.None, result.Error);
            Assert.True(result.NextOffset.Value > from);
            from = result.NextOffset.Value;
        }
    }

    private static async Task<(int Read, int Lost)> CountAsync(QueueStore store, QueueId queue)
    {
        Assert.True(store.TryGetQueue(queue, out QueueView view));
        (int read, int lost) = (0, 0);
        for (long from = view.Start.Value; from < view.End.Value;)
        {
            (ReadResult result, List<TestBatch.Entry> entries) = await ReadAsync(store, queue, from, 20_000);
            if (result.Error == ErrorCode.DamagedData)
                lost += (int)(result.NextOffset.Value - from);
            else
                Assert.Equal(ErrorCode.None, result.Error);
            read += entries.Sum(entry => entry.Count);
            Assert.True(result.NextOffset.Value > from);
            from = result.NextOffset.Value;
        }

        return (read, lost);
    }

    private static void Remove(string file, bool withIndex)
    {
        File.Delete(file);
        if (withIndex)
            File.Delete(Path.ChangeExtension(file, LogFiles.IndexSuffix));
    }

    private string[] SealedFiles()
    {
        string folder = LogFiles.LogDirectory(Folder);
        return [.. Directory.GetFiles(folder, "*" + LogFiles.IndexSuffix).Order()
            .Select(index => Path.ChangeExtension(index, LogFiles.SegmentSuffix))];
    }

    private Task<QueueStore> OpenLoggedAsync(StoreOptions options) =>
        QueueStore.OpenAsync(options, State, _log, Time, Cancel);
}
