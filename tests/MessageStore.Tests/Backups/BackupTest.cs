using System.Collections.Concurrent;
using EQueue.Protocol;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>What tests of backups share: a store of small segments, a folder for its backup and one to restore
/// into.</summary>
public abstract class BackupTest : StoreTest
{
    private protected const int BodySize = 6_000;
    private protected const int ManifestAndLock = 2;
    private static readonly ConcurrentDictionary<int, string> Bodies = new();

    private protected static IDisk Real { get; } = PortableDisk.ForThisSystem();

    private protected string Backup => Folder + "-backup";

    private protected string Restored => Folder + "-restored";

    private protected StoreOptions Segmented => Small with
    {
        SegmentSizeBytes = StoreOptions.SmallestSegmentBytes,
        MaxBatchBytes = 16 << 10,
        TailMemoryBytes = 64 << 10,
    };

    private protected BackupOptions Options => new() { DataDirectory = Folder, BackupDirectory = Backup };

    private protected BackupResult Write() => StoreBackup.Write(Options, Cancel);

    private protected BackupResult Restore() => StoreBackup.Restore(Backup, Restored, null, Cancel);

    private protected Task<QueueStore> OpenRestoredAsync(MemoryState state) => QueueStore.OpenAsync(
        Segmented with { DataDirectory = Restored }, state, NullLoggerFactory.Instance, Time, Cancel);

    private protected static async Task AppendAsync(QueueStore store, QueueId queue, int first, int count)
    {
        for (int i = first; i < first + count; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(BodySize, i), Durability.Policy, Cancel);
    }

    /// <summary>The queue holds the first so many messages, each once and in order.</summary>
    private protected static async Task AssertHoldsAsync(
        QueueStore store, QueueId queue, int count, bool orMore = false)
    {
        List<TestBatch.Entry> entries = await ReadAllAsync(store, queue);
        if (orMore)
            Assert.InRange(entries.Count, count, int.MaxValue);
        else
            Assert.Equal(count, entries.Count);
        for (int i = 0; i < entries.Count; i++)
        {
            Assert.Equal(i, entries[i].FirstOffset);
            Assert.Equal(BodyOf(i), entries[i].Bodies[0]);
        }
    }

    private protected static string BodyOf(int seed) => Bodies.GetOrAdd(seed, ReadBody);

    private static string ReadBody(int seed)
    {
        byte[] batch = TestBatch.OfSize(BodySize, seed);
        var reader = new RecordReader(batch);
        Assert.True(reader.TryRead(out RecordView record));
        return System.Text.Encoding.UTF8.GetString(record.Body);
    }

    private protected static string[] Files(string folder) => Directory.Exists(folder)
        ? [.. Directory.GetFiles(folder, "*", SearchOption.AllDirectories)
            .Select(path => Path.GetRelativePath(folder, path)).Order(StringComparer.Ordinal)]
        : [];

    private protected int IndexFiles() => Files(Folder).Count(name => name.EndsWith(".index", StringComparison.Ordinal));

    private protected static void CopyFolder(string from, string to)
    {
        foreach (string name in Files(from))
        {
            Directory.CreateDirectory(Path.GetDirectoryName(Path.Combine(to, name))!);
            if (Path.GetFileName(name) != "lock")
                File.Copy(Path.Combine(from, name), Path.Combine(to, name));
        }
    }
}
