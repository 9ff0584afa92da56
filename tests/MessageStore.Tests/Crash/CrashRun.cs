using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>Two lives of a store on a simulated disk, with appends, state, rolls, snapshots and a reopening, all
/// remembered.</summary>
internal sealed class CrashRun
{
    public const string Folder = "/crash/store";

    private const int QueueCount = 3;
    private const int InFlight = 6;

    private readonly Random _random;
    private readonly FlushPolicy _policy;
    private readonly CancellationToken _cancel;

    private CrashRun(int seed, FlushPolicy policy, CancellationToken cancel)
    {
        _random = new Random(seed);
        _policy = policy;
        _cancel = cancel;
        History = new CrashHistory(new SimulatedDisk(keepsJournal: true));
    }

    public CrashHistory History { get; }

    public static StoreOptions OptionsOn(SimulatedDisk disk, FlushPolicy policy) => new()
    {
        DataDirectory = Folder,
        FlushPolicy = policy,
        FlushInterval = TimeSpan.FromMilliseconds(2),
        SegmentSizeBytes = StoreOptions.SmallestSegmentBytes,
        TailMemoryBytes = 64 << 10,
        MaxBatchBytes = 8 << 10,
        SnapshotStateBytes = 64 << 10,
        ReserveBytes = 0,
        ReaderThreads = 1,
        Disk = disk,
    };

    public static Task<QueueStore> OpenAsync(
        SimulatedDisk disk, FlushPolicy policy, MemoryState state, CancellationToken cancel) =>
        QueueStore.OpenAsync(OptionsOn(disk, policy), state, NullLoggerFactory.Instance, TimeProvider.System, cancel);

    /// <summary>Lives twice: the first ends in an orderly way or not, the second simply stops.</summary>
    public static async Task<CrashHistory> RecordAsync(
        int seed, FlushPolicy policy, int appends, CancellationToken cancel)
    {
        var run = new CrashRun(seed, policy, cancel);
        SimulatedDisk disk = run.History.Disk;
        await using (QueueStore store = await OpenAsync(disk, policy, new MemoryState(), cancel))
        {
            QueueId[] queues = await store.OpenQueuesAsync(
                TopicId.NewId(), 0, QueueCount, [CrashHistory.EntryOf("k0", run.History.NextVersion("k0"), 1)], cancel);
            foreach (QueueId queue in queues)
                run.History.AddQueue(queue);
            await run.AppendAllAsync(store, queues, appends);
        }

        await using (QueueStore store = await OpenAsync(disk, policy, new MemoryState(), cancel))
        {
            QueueId[] queues = [.. run.History.Queues.Select(queue => new QueueId(queue))];
            await run.AppendAllAsync(store, queues, appends);
        }

        return run.History;
    }

    private async Task AppendAllAsync(QueueStore store, QueueId[] queues, int appends)
    {
        var waiting = new Queue<CrashHistory.Ack>();
        for (int i = 0; i < appends; i++)
        {
            waiting.Enqueue(
                _random.Next(4) == 0 ? await AppendStateAsync(store) : await AppendMessagesAsync(store, queues));
            while (waiting.Count > _random.Next(InFlight))
                await waiting.Dequeue().Done.WaitAsync(_cancel);
        }

        foreach (CrashHistory.Ack ack in waiting)
            await ack.Done.WaitAsync(_cancel);
    }

    private async Task<CrashHistory.Ack> AppendStateAsync(QueueStore store)
    {
        string key = $"k{_random.Next(5)}";
        long version = History.NextVersion(key);
        var ack = new CrashHistory.Ack(History.Disk, _policy == FlushPolicy.Sync);
        StateEntry[] entries = [CrashHistory.EntryOf(key, version, _random.Next(1, 900))];
        while (store.AppendState(entries, ack) is var status && status != AppendStatus.Accepted)
        {
            Assert.Equal(AppendStatus.NoRoom, status);
            await store.WaitForRoomAsync(_cancel);
        }

        History.AddState(key, version, ack);
        return ack;
    }

    private async Task<CrashHistory.Ack> AppendMessagesAsync(QueueStore store, QueueId[] queues)
    {
        var durability = (Durability)_random.Next(3);
        bool isDurable = durability == Durability.Durable
            || (durability == Durability.Policy && _policy == FlushPolicy.Sync);
        var ack = new CrashHistory.Ack(History.Disk, isDurable);
        var items = new AppendItem[_random.Next(1, 4)];
        int[] counts = new int[items.Length];
        for (int i = 0; i < items.Length; i++)
        {
            byte[] batch = _random.Next(3) == 0
                ? TestBatch.OfSize(_random.Next(4_000), _random.Next())
                : TestBatch.Of([.. Enumerable.Range(0, _random.Next(1, 5)).Select(_ => $"message {_random.Next()}")]);
            RecordBatch.Check(batch, out RecordBatchHeader header);
            counts[i] = header.RecordsCount;
            items[i] = new AppendItem { Queue = queues[_random.Next(queues.Length)], Batch = batch };
        }

        bool mayWrite = _random.Next(2) == 0;
        while (store.Append(items, durability, ack, mayWrite) is var status && status != AppendStatus.Accepted)
        {
            Assert.Equal(AppendStatus.NoRoom, status);
            await store.WaitForRoomAsync(_cancel);
        }

        for (int i = 0; i < items.Length; i++)
        {
            Assert.Equal(ErrorCode.None, items[i].Error);
            History.Add(
                items[i].Queue,
                new CrashHistory.Sent(
                    items[i].FirstOffset.Value, counts[i], items[i].Batch.ToArray(), items[i].Epoch, ack));
        }

        return ack;
    }
}
