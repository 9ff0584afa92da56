using System.Text;

namespace EQueue.MessageStore.Tests;

/// <summary>What tests of look-ups by key share: small segments, keyed appends, look-ups.</summary>
public abstract class KeyStoreTest : StoreTest
{
    protected StoreOptions Options => Small with
    {
        FlushPolicy = FlushPolicy.Async,
        SegmentSizeBytes = 64 << 10,
        MaxBatchBytes = 16 << 10,
        TailMemoryBytes = 64 << 10,
        FlushInterval = TimeSpan.FromMilliseconds(1),
    };

    protected string Logs => Path.Combine(Folder, "logs", "0");

    protected static IEnumerable<long> Values(KeyMatches found) => [.. found.Offsets.Select(offset => offset.Value)];

    protected static Task<KeyMatches> FindAsync(
        QueueStore store,
        QueueId queue,
        string key,
        long from = 0,
        long to = long.MaxValue,
        int count = 1_000,
        long bytes = 64 << 20) =>
        store.FindByKeyAsync(
            new KeyQuestion(
                queue, Encoding.UTF8.GetBytes(key), new QueueOffset(from), new QueueOffset(to), count, bytes),
            Cancel).AsTask();

    protected static async Task AppendKeysAsync(QueueStore store, QueueId queue, int bodySize, params string?[] keys) =>
        await store.AppendAsync(queue, TestBatch.OfKeys(bodySize, keys), Durability.Policy, Cancel);
}
