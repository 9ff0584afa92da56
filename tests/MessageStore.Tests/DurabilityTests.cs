using System.Collections.Concurrent;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

public sealed class DurabilityTests : StoreTest
{
    [Fact]
    public async Task GivenANewFolder_WhenAStoreIsMadeInIt_ThenItsNameIsDurableAsWell()
    {
        List<string> synced = [];
        Disk.OnSyncDirectory = path =>
        {
            lock (synced)
                synced.Add(path);
        };
        await using (await OpenAsync())
            Assert.Contains(Path.GetDirectoryName(Folder)!, synced);
        synced.Clear();
        await using (await OpenAsync())
            Assert.DoesNotContain(Path.GetDirectoryName(Folder)!, synced);
    }

    [Fact]
    [EffectOf("Store:FlushPolicy")]
    public async Task GivenSyncFlush_WhenFdatasyncHasNotReturned_ThenNothingIsAcknowledgedNorVisible()
    {
        using var gate = new Gate();
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        Disk.OnSync = path => PassLog(gate, path);
        gate.Shut();

        Task<AppendResult> append = store.AppendAsync(queue, TestBatch.Of("a"), Durability.Policy, Cancel).AsTask();
        await gate.Reached.WaitAsync(Cancel);

        Assert.False(append.IsCompleted);
        Assert.True(store.Watermarks.Written > store.Watermarks.Durable);
        Assert.Equal(store.Watermarks.Durable, store.Watermarks.Visible);
        Assert.Empty(await ReadAllAsync(store, queue));
        Assert.True(store.TryGetQueue(queue, out QueueView view));
        Assert.Equal((0, 1), (view.End.Value, view.StagedEnd.Value));

        gate.Open();
        await append;
        Assert.Single(await ReadAllAsync(store, queue));
    }

    [Fact]
    public async Task GivenSyncFlush_WhenSyncIsRunning_ThenTheNextGroupIsAcknowledgedByOneMoreSync()
    {
        using var gate = new Gate();
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        Disk.OnSync = path => PassLog(gate, path);
        gate.Shut();
        var appends = new List<Task>();
        appends.Add(store.AppendAsync(queue, TestBatch.Of("first"), Durability.Policy, Cancel).AsTask());
        await gate.Reached.WaitAsync(Cancel);
        for (int i = 0; i < 100; i++)
            appends.Add(store.AppendAsync(queue, TestBatch.Of($"{i}"), Durability.Policy, Cancel).AsTask());
        long before = store.Figures.Syncs;

        gate.Open();
        await Task.WhenAll(appends);

        Assert.InRange(store.Figures.Syncs - before, 1, 2);
    }

    /// <summary>What is called durable must end between two entries: recovery could not tell the lost half of one from
    /// rot.</summary>
    [Theory]
    [InlineData(FlushPolicy.Sync)]
    [InlineData(FlushPolicy.Async)]
    public async Task GivenAnEntryAcrossTheEndOfTheRing_WhenHalfOfItIsWritten_ThenWrittenStillEndsBeforeIt(
        FlushPolicy policy)
    {
        var disk = new SimulatedDisk();
        await using QueueStore store = await OpenAsync(Small with { Disk = disk, FlushPolicy = policy });
        QueueId queue = await OpenQueueAsync(store);
        long first = store.Watermarks.Staged.Value;
        var ends = new ConcurrentQueue<long>();
        disk.OnChange = (_, _) => ends.Enqueue(store.Watermarks.Written.Value);

        for (int i = 0; i < 20; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(33_333, i), Durability.Policy, Cancel);

        disk.OnChange = null;
        List<TestBatch.Entry> entries = await ReadAllAsync(store, queue);
        long ring = Small.TailMemoryBytes;
        Assert.Contains(entries, entry => entry.Position / ring < (entry.Position + entry.Batch.Length) / ring);
        Assert.Empty(ends.Except([first, .. entries.Select(entry => entry.Position), store.Watermarks.Staged.Value]));
    }

    [Fact]
    public async Task GivenABacklog_WhenItIsWritten_ThenReadersSeeItAboutEveryMegabyte()
    {
        using var gate = new Gate();
        var ends = new ConcurrentQueue<long>();
        await using QueueStore store = await OpenAsync(
            Small with { TailMemoryBytes = 8 << 20, SegmentSizeBytes = 8 << 20, FlushPolicy = FlushPolicy.Async });
        QueueId queue = await OpenQueueAsync(store);
        Disk.OnWrite = (path, _) =>
        {
            PassLog(gate, path);
            ends.Enqueue(store.Watermarks.Visible.Value);
        };
        gate.Shut();

        Task[] appends =
        [
            .. Enumerable.Range(0, 80).Select(i =>
                store.AppendAsync(queue, TestBatch.OfSize(50_000, i), Durability.Policy, Cancel).AsTask()),
        ];
        await gate.Reached.WaitAsync(Cancel);
        gate.Open();
        await Task.WhenAll(appends);

        Assert.InRange(ends.Distinct().Count(), 4, 10);
    }

    [Fact]
    public async Task GivenSyncFlush_WhenWrittenIsAskedFor_ThenItIsAcknowledgedBeforeTheSyncAndStillNotVisible()
    {
        using var gate = new Gate();
        await using QueueStore store = await OpenAsync();
        QueueId queue = await OpenQueueAsync(store);
        Disk.OnSync = path => PassLog(gate, path);
        gate.Shut();

        await store.AppendAsync(queue, TestBatch.Of("a"), Durability.Written, Cancel);

        Assert.Empty(await ReadAllAsync(store, queue));
        gate.Open();
        await store.AppendAsync(queue, TestBatch.Of("b"), Durability.Durable, Cancel);
        Assert.Equal(2, (await ReadAllAsync(store, queue)).Count);
    }

    [Fact]
    public async Task GivenAsyncFlush_WhenWritten_ThenItIsAcknowledgedAndVisibleBeforeAnySync()
    {
        await using QueueStore store = await OpenAsync(
            Small with { FlushPolicy = FlushPolicy.Async, FlushInterval = TimeSpan.FromHours(1) });
        QueueId queue = await OpenQueueAsync(store);
        long syncs = store.Figures.Syncs;

        await AppendAsync(store, queue, "a");

        Assert.Single(await ReadAllAsync(store, queue));
        Assert.Equal(syncs, store.Figures.Syncs);
        Assert.True(store.Watermarks.Durable < store.Watermarks.Written);
    }

    [Fact]
    public async Task GivenAsyncFlush_WhenDurableIsAskedFor_ThenItIsSyncedAtOnce()
    {
        await using QueueStore store = await OpenAsync(
            Small with { FlushPolicy = FlushPolicy.Async, FlushInterval = TimeSpan.FromHours(1) });
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 20; i++)
        {
            await AppendAsync(store, queue, "written");
            await store.AppendAsync(queue, TestBatch.Of("durable"), Durability.Durable, Cancel);
            Assert.Equal(store.Watermarks.Written, store.Watermarks.Durable);
        }
    }

    [Fact]
    [EffectOf("Store:FlushInterval")]
    public async Task GivenAsyncFlush_WhenTheIntervalIsOver_ThenEverythingWrittenIsDurable()
    {
        await using QueueStore store = await OpenAsync(
            Small with { FlushPolicy = FlushPolicy.Async, FlushInterval = TimeSpan.FromMilliseconds(1) });
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < 50; i++)
        {
            await AppendAsync(store, queue, "a");
            await Eventually(() => store.Watermarks.Durable == store.Watermarks.Staged);
        }
    }

    private static void PassLog(Gate gate, string path)
    {
        if (path.EndsWith(".log", StringComparison.Ordinal) || path.EndsWith(".next", StringComparison.Ordinal))
            gate.Pass();
    }
}
