using System.Buffers;
using System.Text;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>What tests of a running store share: a folder, small settings, appends and reads.</summary>
public abstract class StoreTest : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("equeue-store-").FullName;

    protected static CancellationToken Cancel => TestContext.Current.CancellationToken;

    internal MemoryState State { get; set; } = new();

    internal GatedDisk Disk { get; } = new();

    protected TimeProvider Time { get; set; } = TimeProvider.System;

    protected string Folder => Path.Combine(_folder, "store");

    protected StoreOptions Small => new()
    {
        DataDirectory = Folder,
        SegmentSizeBytes = 1 << 20,
        TailMemoryBytes = 256 << 10,
        MaxBatchBytes = 64 << 10,
        ReserveBytes = 0,
        Disk = Disk,
    };

    /// <summary>Little in memory and in a segment: most is read from sealed ones.</summary>
    protected StoreOptions SmallSegments =>
        Small with { SegmentSizeBytes = 64 << 10, MaxBatchBytes = 16 << 10, TailMemoryBytes = 64 << 10 };

    public void Dispose()
    {
        Directory.Delete(_folder, recursive: true);
        GC.SuppressFinalize(this);
    }

    protected Task<QueueStore> OpenAsync(StoreOptions? options = null) =>
        QueueStore.OpenAsync(options ?? Small, State, NullLoggerFactory.Instance, Time, Cancel);

    protected static async Task<QueueId> OpenQueueAsync(QueueStore store) =>
        (await store.OpenQueuesAsync(TopicId.NewId(), 0, 1, [], Cancel))[0];

    protected static async Task<long> AppendAsync(QueueStore store, QueueId queue, params string[] bodies) =>
        (await store.AppendAsync(queue, TestBatch.Of(bodies), Durability.Policy, Cancel)).FirstOffset.Value;

    /// <summary>No read of this byte succeeds until the file is written anew.</summary>
    protected void Break(string bad, long sector)
    {
        bool isBad = true;
        Disk.OnWrite = (path, _) => isBad &= path != bad + LogFiles.TemporarySuffix;
        Disk.OnRead = (path, offset, size) =>
        {
            if (isBad && path == bad && offset <= sector && offset + size > sector)
                throw new DiskException(DiskFault.Io, path, "pread", "bad sector");
        };
    }

    /// <summary>From now on every write finds the disk full.</summary>
    /// <returns>Ends that.</returns>
    protected Action FillDisk()
    {
        bool isFull = true;
        Disk.OnWrite = (path, _) =>
        {
            if (Volatile.Read(ref isFull))
                throw new DiskException(DiskFault.Full, path, "pwrite", "no space left");
        };
        return () => Volatile.Write(ref isFull, false);
    }

    /// <summary>Waits for a state of the store that nobody signals.</summary>
    protected static async Task Eventually(Func<bool> condition)
    {
        long deadline = Environment.TickCount64 + 30_000;
        while (!condition())
        {
            Assert.True(Environment.TickCount64 < deadline, "the condition was not met in 30 s");
            await Task.Yield();
        }
    }

    protected static async Task FailsAsync(ErrorCode expected, Task task)
    {
        EQueueException exception = await Assert.ThrowsAsync<EQueueException>(() => task);
        Assert.Equal(expected, exception.Code);
    }

    /// <summary>Reads from memory, else from disk.</summary>
    internal static async Task<(ReadResult Result, List<TestBatch.Entry> Entries)> ReadAsync(
        QueueStore store, QueueId queue, long from, int maxBytes = 1 << 20)
    {
        var bytes = new ArrayBufferWriter<byte>();
        ReadResult result = store.Read(queue, new QueueOffset(from), maxBytes, bytes);
        if (result.NeedsDisk)
        {
            Assert.Equal(0, bytes.WrittenCount);
            result = await store.ReadFromDiskAsync(queue, new QueueOffset(from), maxBytes, bytes, Cancel);
        }
        Assert.Equal(bytes.WrittenCount, result.Size);
        return (result, TestBatch.Split(bytes.WrittenSpan, queue));
    }

    /// <summary>Reads a queue from an offset to its visible end.</summary>
    internal static async Task<List<TestBatch.Entry>> ReadAllAsync(
        QueueStore store, QueueId queue, long from = 0, int maxBytes = 100_000)
    {
        var all = new List<TestBatch.Entry>();
        while (true)
        {
            (ReadResult result, List<TestBatch.Entry> entries) = await ReadAsync(store, queue, from, maxBytes);
            Assert.Equal(ErrorCode.None, result.Error);
            if (entries.Count == 0)
                return all;
            Assert.True(entries[0].FirstOffset <= from);
            Assert.True(result.NextOffset.Value > from, $"a read from {from} goes on at {result.NextOffset}");
            all.AddRange(entries);
            from = result.NextOffset.Value;
        }
    }
}

/// <summary>A state machine that keeps every key.</summary>
internal sealed class MemoryState : IStateMachine
{
    private readonly Lock _lock = new();
    private readonly Dictionary<string, string> _values = [];

    public string? this[string key]
    {
        get
        {
            lock (_lock)
                return _values.GetValueOrDefault(key);
        }
    }

    public static StateEntry Entry(string key, string? value) => value is null
        ? StateEntry.Removal(64, Encoding.UTF8.GetBytes(key))
        : new StateEntry(64, Encoding.UTF8.GetBytes(key), Encoding.UTF8.GetBytes(value));

    public void Apply(in StateRecord record)
    {
        lock (_lock)
        {
            string key = Encoding.UTF8.GetString(record.Key);
            if (record.IsDeleted)
            {
                _values.Remove(key);
            }
            else
            {
                _values[key] = Encoding.UTF8.GetString(record.Value);
            }
        }
    }

    public override string ToString()
    {
        lock (_lock)
        {
            IEnumerable<string> pairs = _values.Select(pair => $"{pair.Key}={pair.Value}");
            return string.Join(',', pairs.Order(StringComparer.Ordinal));
        }
    }

    public IEnumerable<StateEntry> Capture()
    {
        lock (_lock)
            return _values.Select(pair => Entry(pair.Key, pair.Value)).ToList();
    }
}
