namespace EQueue.MessageStore.Tests;

/// <summary>Random keys in random batches, with starts that move, packs and restarts, against a list in memory. A
/// failure tells its seed.</summary>
public sealed class KeyModelTests : KeyStoreTest
{
    private static readonly string?[] Keys = [null, "", "a", "b", "c", "ä", "key-that-is-longer", "z"];

    [Fact]
    public async Task GivenRandomHistories_WhenAnyKeyIsLookedUpAnywhere_ThenItIsWhatTheModelSays()
    {
        for (int run = 0; run < 10; run++)
        {
            int seed = Random.Shared.Next();
            try
            {
                await RunAsync(new Random(seed));
            }
            catch (Exception exception) when (exception is not OperationCanceledException)
            {
                throw new InvalidOperationException($"seed {seed}: {exception.Message}", exception);
            }
        }
    }

    private async Task RunAsync(Random random)
    {
        Disk.OnOpen = null;
        StoreOptions options = Options with
        {
            DataDirectory = Path.Combine(Folder, Guid.NewGuid().ToString("N")),
            SnapshotInterval = TimeSpan.FromSeconds(1),
            PackBytesPerSecond = 1L << 40,
        };
        var model = new List<string?>[] { [], [], [] };
        long[] starts = new long[model.Length];
        QueueId[] queues;
        State = new MemoryState();
        QueueStore store = await OpenAsync(options);
        try
        {
            queues = await store.OpenQueuesAsync(TopicId.NewId(), 0, model.Length, [], Cancel);
            for (int step = 0; step < 250; step++)
            {
                int which = random.Next(model.Length);
                switch (random.Next(30))
                {
                    case 0:
                        await store.DisposeAsync();
                        State = new MemoryState();
                        store = await OpenAsync(options);
                        break;
                    case 1:
                        starts[which] = random.NextInt64(starts[which], model[which].Count + 1);
                        await store.MoveStartsAsync([(queues[which], new QueueOffset(starts[which]))], Cancel);
                        break;
                    case < 8:
                        await AssertFoundAsync(store, queues[which], model[which], starts[which], random);
                        break;
                    default:
                        // Queues differ in their share of keys, so that filters differ.
                        string?[] keys = [.. Enumerable.Range(0, random.Next(1, 6))
                            .Select(_ => Keys[random.Next(1 + (which * 3), Keys.Length) % Keys.Length])];
                        model[which].AddRange(keys);
                        await AppendKeysAsync(store, queues[which], random.Next(2_000), keys);
                        break;
                }
            }
            for (int which = 0; which < model.Length; which++)
                await AssertFoundAsync(store, queues[which], model[which], starts[which], random);
        }
        finally
        {
            await store.DisposeAsync();
        }
    }

    private static async Task AssertFoundAsync(
        QueueStore store, QueueId queue, List<string?> model, long start, Random random)
    {
        string key = Keys[random.Next(1, Keys.Length)]!;
        long from = random.Next(3) == 0 ? random.NextInt64(0, model.Count + 2) : 0;
        long to = random.Next(3) == 0 ? random.NextInt64(0, model.Count + 2) : long.MaxValue;
        int count = random.Next(1, 40);
        long bytes = random.NextInt64(1, 100_000);
        var found = new List<long>();
        long next = from;
        while (true)
        {
            KeyMatches some = await FindAsync(store, queue, key, next, to, count, bytes);
            Assert.Equal((start, model.Count, 0), (some.Start.Value, some.VisibleEnd.Value, some.UnreadableCount));
            Assert.True(some.Offsets.Count <= count);
            found.AddRange(Values(some));
            if (some.NextOffset.Value >= Math.Min(to, some.VisibleEnd.Value))
                break;
            Assert.True(some.NextOffset.Value > next);
            next = some.NextOffset.Value;
        }
        IEnumerable<long> expected = Enumerable.Range(0, model.Count)
            .Where(i => i >= Math.Max(from, start) && i < to && model[i] == key).Select(i => (long)i);
        Assert.Equal(expected, found);
    }
}
