using System.Collections.Concurrent;
using System.Runtime.InteropServices;

namespace EQueue.MessageStore.Tests;

public sealed class FaultTests : StoreTest
{
    [Theory]
    [InlineData(FlushPolicy.Sync, true)]
    [InlineData(FlushPolicy.Sync, false)]
    [InlineData(FlushPolicy.Async, true)]
    [InlineData(FlushPolicy.Async, false)]
    public async Task GivenAFailedWriteOrSync_WhenAppending_ThenTheStoreLatchesAndReadsGoOn(
        FlushPolicy policy, bool isWrite)
    {
        QueueStore store = await OpenAsync(
            Small with { FlushPolicy = policy, FlushInterval = TimeSpan.FromMilliseconds(1) });
        QueueId queue = await OpenQueueAsync(store);
        await store.AppendAsync(queue, TestBatch.Of("good"), Durability.Durable, Cancel);
        var failures = new ConcurrentQueue<string>();
        void Fail(string path)
        {
            failures.Enqueue(path);
            throw new DiskException(DiskFault.Io, path, "test", "the device is gone");
        }
        if (isWrite)
        {
            Disk.OnWrite = (path, _) => Fail(path);
        }
        else
        {
            Disk.OnSync = Fail;
        }

        EQueueException bad = await Assert.ThrowsAsync<EQueueException>(
            () => store.AppendAsync(queue, TestBatch.Of("bad"), Durability.Durable, Cancel).AsTask());
        Assert.Equal(ErrorCode.StoreFaulted, bad.Code);
        await Assert.ThrowsAsync<EQueueException>(() => store.Completion);
        Disk.OnWrite = null;
        Disk.OnSync = null;

        var items = new AppendItem[] { new() { Queue = queue, Batch = TestBatch.Of("later") } };
        Assert.Equal(AppendStatus.Nothing, store.Append(items, Durability.Policy, new TestWaiter()));
        Assert.Equal(ErrorCode.StoreFaulted, items[0].Error);
        EQueueException state = await Assert.ThrowsAsync<EQueueException>(
            () => store.AppendStateAsync([MemoryState.Entry("a", "b")], Cancel));
        Assert.Equal(ErrorCode.StoreFaulted, state.Code);
        Assert.Equal("good", (await ReadAllAsync(store, queue))[0].Bodies[0]);
        Assert.Single(failures);

        await store.DisposeAsync();
        Assert.False(File.Exists(Path.Combine(Folder, "clean")));
        State = new MemoryState();
        await using QueueStore again = await OpenAsync();
        Assert.Equal("good", (await ReadAllAsync(again, queue))[0].Bodies[0]);
    }

    /// <summary>Where the store meets a want of descriptors or memory on its way to the next segment.</summary>
    public enum Place
    {
        OpeningTheNextFile,
        ReservingItsRoom,
        OpeningItsFolder,
        Writing,
    }

    public static TheoryData<Place, bool> Shortages { get; } = new(
        from place in Enum.GetValues<Place>() from isOutOfMemory in new[] { false, true } select (place, isOutOfMemory));

    [Theory]
    [MemberData(nameof(Shortages))]
    public async Task GivenNoDescriptorOrMemoryForTheNextSegment_WhenItPasses_ThenAppendsGoOnAndNothingIsLost(
        Place place, bool isOutOfMemory)
    {
        await using QueueStore store = await OpenAsync(
            SmallSegments with { FlushPolicy = FlushPolicy.Async, FlushInterval = TimeSpan.FromMilliseconds(1) });
        QueueId queue = await OpenQueueAsync(store);
        bool isShort = true;
        var met = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        void Refuse(string path)
        {
            if (!Volatile.Read(ref isShort))
                return;
            met.TrySetResult();
            throw isOutOfMemory
                ? new OutOfMemoryException()
                : new DiskException(DiskFault.Shortage, path, "test", "too many open files");
        }
        Disk.OnOpen = place == Place.OpeningTheNextFile ? Refuse : null;
        Disk.OnPreallocate = place == Place.ReservingItsRoom ? Refuse : null;
        Disk.OnSyncDirectory = place == Place.OpeningItsFolder ? Refuse : null;
        Disk.OnWrite = place == Place.Writing ? (path, _) => Refuse(path) : null;

        // Several segments: they need what is not to be had.
        Task<AppendResult>[] appends = [.. Enumerable.Range(0, 20).Select(number => store.AppendAsync(
            queue, TestBatch.OfSize(10_000, number), Durability.Durable, Cancel).AsTask())];
        await met.Task.WaitAsync(TimeSpan.FromSeconds(20), Cancel);
        Assert.False(store.Completion.IsCompleted);
        Assert.Contains(appends, append => !append.IsCompleted);
        Volatile.Write(ref isShort, false);

        await Task.WhenAll(appends).WaitAsync(TimeSpan.FromSeconds(30), Cancel);
        Assert.False(store.Completion.IsFaulted);
        Assert.True(store.Figures.Segments > 2);
        Assert.Equal(20, (await ReadAllAsync(store, queue)).Count);
    }

    [Theory]
    [InlineData(12)] // ENOMEM
    [InlineData(23)] // ENFILE
    [InlineData(24)] // EMFILE
    public void GivenNoDescriptorOrMemory_WhenACallFails_ThenItIsAShortageAndAFailedSyncIsNot(int error)
    {
        Marshal.SetLastPInvokeError(error);
        Assert.Equal(DiskFault.Shortage, LinuxCalls.Fault("open", "a").Fault);
        Marshal.SetLastPInvokeError(error);
        Assert.Equal(DiskFault.Io, LinuxCalls.SyncFault("fdatasync", "a").Fault);
    }

    [Fact]
    public async Task GivenAFailedSync_WhenMoreIsWrittenBeforeItIsKnown_ThenNobodySyncsAgainAndNobodyIsTold()
    {
        QueueStore store = await OpenAsync(
            Small with { MaxBatchBytes = 256 << 10, TailMemoryBytes = 2 << 20, SegmentSizeBytes = 4 << 20 });
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "good");
        using var fault = new SlowFault();
        int syncs = 0;
        Disk.OnSync = _ =>
        {
            if (Interlocked.Increment(ref syncs) == 1)
                throw fault;
        };

        // So much that the flusher syncs it, and then so little that the writer would.
        var lost = new TestWaiter();
        AppendItem[] much = [new AppendItem { Queue = queue, Batch = TestBatch.OfSize(200 << 10, 1) }];
        Assert.Equal(AppendStatus.Accepted, store.Append(much, Durability.Durable, lost));
        await fault.Asked.WaitAsync(TimeSpan.FromSeconds(20), Cancel);
        for (int i = 0; i < 2; i++)
        {
            // The second is written after the round of the first is over.
            ValueTask<AppendResult> little = store.AppendAsync(queue, TestBatch.Of("a"), Durability.Written, Cancel);
            await little.AsTask().WaitAsync(TimeSpan.FromSeconds(20), Cancel);
        }
        fault.Tell();

        await FailsAsync(ErrorCode.StoreFaulted, lost.Task);
        await FailsAsync(ErrorCode.StoreFaulted, store.Completion);
        await store.DisposeAsync();
        Assert.Equal(1, syncs);
    }

    [Fact]
    public async Task GivenAFullDiskInAWrite_WhenThereIsRoomAgain_ThenTheSameBytesAreWrittenAndNothingIsLost()
    {
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "before");
        Action free = FillDisk();
        Task<long> staged = AppendAsync(store, queue, "kept");
        await Eventually(() => store.Figures.IsReadOnly);
        var items = new AppendItem[] { new() { Queue = queue, Batch = TestBatch.Of("refused") } };
        Assert.Equal(AppendStatus.Nothing, store.Append(items, Durability.Policy, new TestWaiter()));
        Assert.Equal(ErrorCode.StorageFull, items[0].Error);
        Assert.False(staged.IsCompleted);
        Assert.Single(await ReadAllAsync(store, queue));

        free();
        await staged.WaitAsync(TimeSpan.FromSeconds(20), Cancel);
        await Eventually(() => !store.Figures.IsReadOnly);
        await AppendAsync(store, queue, "after");
        Assert.Equal(["before", "kept", "after"], (await ReadAllAsync(store, queue)).SelectMany(entry => entry.Bodies));
    }

    [Fact]
    public async Task GivenAFailedSyncOfTheFolderBesideTheLog_WhenItIsToldOnce_ThenTheStoreLatches()
    {
        QueueStore store = await OpenAsync(Small with { SnapshotInterval = TimeSpan.FromSeconds(1) });
        QueueId queue = await OpenQueueAsync(store);
        await AppendAsync(store, queue, "good");
        int keeper = 0;
        Disk.OnSyncDirectory = path =>
        {
            if (Thread.CurrentThread.Name == "EQueue log keeper" && Interlocked.Exchange(ref keeper, 1) == 0)
                throw new DiskException(DiskFault.Io, path, "fsync", "the device is gone");
        };
        await store.AppendStateAsync([MemoryState.Entry("a", "b")], Cancel);

        await FailsAsync(ErrorCode.StoreFaulted, store.Completion.WaitAsync(TimeSpan.FromSeconds(20), Cancel));
        await FailsAsync(ErrorCode.StoreFaulted, AppendAsync(store, queue, "bad"));
        await store.DisposeAsync();
    }

    [Fact]
    public async Task GivenAFullDiskAndASnapshotThatIsDue_WhenTheStoreIsClosed_ThenItCloses()
    {
        QueueStore store = await OpenAsync(Small with { SnapshotInterval = TimeSpan.FromSeconds(1) });
        QueueId queue = await OpenQueueAsync(store);
        Action free = FillDisk();
        Task staged = AppendAsync(store, queue, "staged");
        await Eventually(() => store.Figures.IsReadOnly);
        Task state = store.AppendStateAsync([MemoryState.Entry("a", "b")], Cancel);
        long soon = Environment.TickCount64 + 1_500;
        await Eventually(() => Environment.TickCount64 > soon);

        await store.DisposeAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(20), Cancel);
        free();
        await FailsAsync(ErrorCode.StoreFaulted, staged);
        await FailsAsync(ErrorCode.StoreFaulted, state);
    }

    [Fact]
    public async Task GivenARequestOfMoreEntriesThanFitIntoTwoFiles_WhenItWaitsForRoom_ThenTheFilesAreMadeAtOnce()
    {
        StoreOptions small = Small with { MaxBatchBytes = 700 << 10, TailMemoryBytes = 8 << 20 };
        await using QueueStore store = await OpenAsync(small with { FlushPolicy = FlushPolicy.Async });
        QueueId queue = await OpenQueueAsync(store);
        await store.AppendAsync(queue, TestBatch.OfSize(600 << 10, 0), Durability.Policy, Cancel);
        AppendItem[] items =
        [
            .. Enumerable.Range(1, 3).Select(
                i => new AppendItem { Queue = queue, Batch = TestBatch.OfSize(600 << 10, i) }),
        ];
        var waiter = new TestWaiter();
        int tries = 1;
        for (; store.Append(items, Durability.Policy, waiter) == AppendStatus.NoRoom; tries++)
        {
            Assert.True(tries < 10, "nobody makes the files that it needs");
            await store.WaitForRoomAsync(Cancel).AsTask().WaitAsync(TimeSpan.FromSeconds(20), Cancel);
        }

        await waiter.Task.WaitAsync(TimeSpan.FromSeconds(20), Cancel);
        Assert.Equal(4, (await ReadAllAsync(store, queue)).Count);
    }

    [Fact]
    public async Task GivenLessRoomThanTheReserve_WhenAppending_ThenMessagesAreRefusedStateGoesOnAndItResumes()
    {
        await using QueueStore store = await OpenAsync(Small with { ReserveBytes = 1 << 20 });
        QueueId queue = await OpenQueueAsync(store);
        Disk.Free = 1000;
        for (int i = 0; !store.Figures.IsReadOnly; i++)
        {
            Assert.True(i < 200, "half a segment must wake the preparer");
            await TryAppendAsync(store, queue, TestBatch.OfSize(10_000, i));
            await Task.Yield();
        }

        EQueueException full = await Assert.ThrowsAsync<EQueueException>(() => AppendAsync(store, queue, "refused"));
        Assert.Equal(ErrorCode.StorageFull, full.Code);
        Assert.True(full.IsRetriable);
        await store.AppendStateAsync([MemoryState.Entry("commit", "1")], Cancel);
        Assert.Equal("1", State["commit"]);
        Assert.NotEmpty(await ReadAllAsync(store, queue));

        Disk.Free = null;
        await Eventually(() => !store.Figures.IsReadOnly);
        await AppendAsync(store, queue, "accepted");
    }

    [Fact]
    public async Task GivenNoRoomForTheNextSegment_WhenThisOneIsFull_ThenAppendsWaitOrAreRefusedUntilThereIs()
    {
        await using QueueStore store = await OpenAsync(Small with { FlushPolicy = FlushPolicy.Async });
        QueueId queue = await OpenQueueAsync(store);
        var paths = new ConcurrentQueue<string>();
        Disk.OnPreallocate = path =>
        {
            paths.Enqueue(path);
            throw new DiskException(DiskFault.Full, path, "fallocate", "no space left");
        };
        for (int i = 0; !store.Figures.IsReadOnly; i++)
        {
            Assert.True(i < 200);
            await TryAppendAsync(store, queue, TestBatch.OfSize(10_000, i));
            await Task.Yield();
        }
        Assert.Contains(paths, path => path.EndsWith(".next", StringComparison.Ordinal));
        Assert.Empty(Directory.GetFiles(Path.Combine(Folder, "logs", "0"), "*.next"));

        Disk.OnPreallocate = null;
        await Eventually(() => !store.Figures.IsReadOnly);
        for (int i = 0; i < 200; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(10_000, i), Durability.Policy, Cancel);
        Assert.True(store.Figures.Segments > 1);
    }

    [Fact]
    public async Task GivenAnIndexThatCannotBeWritten_WhenTheDiskWorksAgain_ThenTheStoreNeverStoppedAndWritesIt()
    {
        await using QueueStore store = await OpenAsync(
            Small with
            {
                FlushPolicy = FlushPolicy.Async,
                SegmentSizeBytes = 128 << 10,
                FlushInterval = TimeSpan.FromMilliseconds(5),
            });
        QueueId queue = await OpenQueueAsync(store);
        Disk.OnWrite = (path, _) =>
        {
            if (!path.Contains(".log", StringComparison.Ordinal) && !path.Contains(".next", StringComparison.Ordinal))
                throw new DiskException(DiskFault.Io, path, "pwrite", "broken");
        };
        for (int i = 0; i < 60; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(10_000, i), Durability.Policy, Cancel);
        Assert.Equal(60, (await ReadAllAsync(store, queue)).Count);
        Assert.Empty(Directory.GetFiles(Path.Combine(Folder, "logs", "0"), "*.index"));

        Disk.OnWrite = null;
        await Eventually(() => Directory.GetFiles(Path.Combine(Folder, "logs", "0"), "*.index").Length >= 4);
        Assert.Equal(60, (await ReadAllAsync(store, queue)).Count);
    }

    private static async Task TryAppendAsync(QueueStore store, QueueId queue, byte[] batch)
    {
        try
        {
            await store.AppendAsync(queue, batch, Durability.Policy, Cancel);
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.StorageFull)
        {
            Assert.True(store.Figures.IsReadOnly || exception.IsRetriable);
        }
    }

    /// <summary>A failure that tells its reason late, and with it that it happened.</summary>
    private sealed class SlowFault : IOException, IDisposable
    {
        private readonly TaskCompletionSource _asked = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private readonly ManualResetEventSlim _told = new();

        public Task Asked => _asked.Task;

        public override string Message
        {
            get
            {
                _asked.TrySetResult();
                Assert.True(_told.Wait(TimeSpan.FromSeconds(20)));
                return "the device is gone";
            }
        }

        public void Tell() => _told.Set();

        public void Dispose() => _told.Dispose();
    }
}
