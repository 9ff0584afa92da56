using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>
/// Golden/data-v1 was written by the first version: three queues of two topics, state, two sealed segments with index,
/// a snapshot, and the torn tail of a killed process. Every later version must open it.
/// </summary>
public sealed class DirectoryV1Tests : IDisposable
{
    private const int SealedRounds = 3;
    private readonly TempDirectory _folder = new();

    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task GivenTheDirectoryOfVersionOne_WhenOpened_ThenEverythingIsRead()
    {
        if (GoldenFile.IsWriting && !Directory.Exists(Path.Combine(GoldenFile.SourceFolder(), "data-v1")))
            await WriteAsync();
        string golden = Path.Combine(GoldenFile.IsWriting ? GoldenFile.SourceFolder() : GoldenFile.Folder, "data-v1");
        foreach (string file in Directory.GetFiles(golden, "*", SearchOption.AllDirectories))
        {
            string target = _folder[Path.GetRelativePath(golden, file)];
            Directory.CreateDirectory(Path.GetDirectoryName(target)!);
            File.Copy(file, target);
        }

        var state = new MemoryState();
        await using QueueStore store = await OpenAsync(state, TimeProvider.System);
        Assert.Equal(3, store.Epoch);
        Assert.Equal("a,b", state["topics"]);
        Assert.Equal($"{2 * SealedRounds}", state["round"]);
        Assert.Null(state["gone"]);
        QueueView[] queues = [.. store.Queues.OrderBy(queue => queue.Id.Value)];
        Assert.Equal([(1u, 0), (2u, 1), (3u, 0)], queues.Select(queue => (queue.Id.Value, queue.Number)));
        Assert.Equal(queues[0].TopicId, queues[1].TopicId);
        Assert.NotEqual(queues[0].TopicId, queues[2].TopicId);
        foreach (QueueView queue in queues)
        {
            string[] bodies = [.. (await StoreTest.ReadAllAsync(store, queue.Id)).SelectMany(entry => entry.Bodies)];
            Assert.Equal(BodiesOf(queue.Id.Value), bodies);
        }

        ErrorCode again = await ResendAsync(store, new ProducerSession(0, 0), sequence: 0);
        Assert.Equal(ErrorCode.DuplicateSequence, again);
        Assert.Empty(LogVerifier.Verify(_folder.FullPath, Cancel).BadRanges);
    }

    private static IEnumerable<string> BodiesOf(uint queue)
    {
        for (int round = 1; round <= 2 * SealedRounds; round++)
        {
            for (int i = 0; i < queue; i++)
                yield return $"queue {queue} round {round} message {i}";
        }

        if (queue == 1)
            yield return "with sequence";
    }

    private static async Task<ErrorCode> ResendAsync(QueueStore store, ProducerSession producer, int sequence)
    {
        AppendItem[] items =
            [new AppendItem { Queue = new QueueId(1), Batch = TestBatch.Of(producer, sequence, "with sequence") }];
        var ack = new CrashHistory.Ack(new SimulatedDisk(), isDurable: true);
        if (store.Append(items, Durability.Durable, ack) == AppendStatus.Accepted)
            await ack.Done.WaitAsync(Cancel);
        return items[0].Error;
    }

    private Task<QueueStore> OpenAsync(MemoryState state, TimeProvider time)
    {
        var options = new StoreOptions
        {
            DataDirectory = _folder.FullPath,
            SegmentSizeBytes = StoreOptions.SmallestSegmentBytes,
            TailMemoryBytes = 64 << 10,
            MaxBatchBytes = 8 << 10,
            SegmentMaxAge = TimeSpan.FromSeconds(1),
            ReserveBytes = 0,
        };
        return QueueStore.OpenAsync(
            options, state, NullLoggerFactory.Instance, time, Cancel);
    }

    /// <summary>Two lives: the first rolls and stops in order, the second dies in the middle of a write.</summary>
    private async Task WriteAsync()
    {
        var time = new SteppedTime();
        await using (QueueStore store = await OpenAsync(new MemoryState(), time))
        {
            await store.OpenQueuesAsync(TopicId.NewId(), 0, 2, [MemoryState.Entry("topics", "a")], Cancel);
            await store.OpenQueuesAsync(
                TopicId.NewId(), 0, 1, [MemoryState.Entry("topics", "a,b"), MemoryState.Entry("gone", "soon")], Cancel);
            for (int round = 1; round <= SealedRounds; round++)
                await WriteRoundAsync(store, round, time);
        }

        await using (QueueStore store = await OpenAsync(new MemoryState(), time))
        {
            await store.AppendStateAsync([MemoryState.Entry("gone", null)], Cancel);
            for (int round = SealedRounds + 1; round <= 2 * SealedRounds; round++)
                await WriteRoundAsync(store, round, new SteppedTime());
            ProducerSession producer = await store.InitProducerAsync(ProducerSession.None, Cancel);
            await ResendAsync(store, producer, sequence: 0);
            CopyTrimmed(_folder.FullPath, Path.Combine(GoldenFile.SourceFolder(), "data-v1"));
        }

        Directory.Delete(_folder.FullPath, recursive: true);
    }

    private static async Task WriteRoundAsync(QueueStore store, int round, SteppedTime time)
    {
        for (uint queue = 1; queue <= 3; queue++)
        {
            for (int i = 0; i < queue; i++)
            {
                byte[] batch = TestBatch.Of($"queue {queue} round {round} message {i}");
                await store.AppendAsync(new QueueId(queue), batch, Durability.Durable, Cancel);
            }
        }

        await store.AppendStateAsync([MemoryState.Entry("round", $"{round}")], Cancel);
        time.Step(TimeSpan.FromSeconds(2));
    }

    /// <summary>Copies the live files, without what is made ahead and without the zeros at their ends, and tears the
    /// tail.</summary>
    private static void CopyTrimmed(string from, string to)
    {
        foreach (string file in Directory.GetFiles(from, "*", SearchOption.AllDirectories))
        {
            if (Path.GetFileName(file) == "lock" || file.EndsWith(LogFiles.PreparedSuffix, StringComparison.Ordinal))
                continue;
            string target = Path.Combine(to, Path.GetRelativePath(from, file));
            Directory.CreateDirectory(Path.GetDirectoryName(target)!);
            byte[] bytes = File.ReadAllBytes(file);
            int length = Math.Min(bytes.Length, bytes.AsSpan().LastIndexOfAnyExcept((byte)0) + 1 + EntryHeader.Length);
            File.WriteAllBytes(
                target, file.EndsWith(LogFiles.SegmentSuffix, StringComparison.Ordinal) ? bytes[..length] : bytes);
        }

        string[] segments = Directory.GetFiles(Path.Combine(to, "logs", "0"), "*" + LogFiles.SegmentSuffix);
        string last = segments.Max(StringComparer.Ordinal)!;
        byte[] whole = File.ReadAllBytes(last);
        File.WriteAllBytes(
            last,
            [.. whole.AsSpan(0, whole.Length - EntryHeader.Length + 8), .. whole.AsSpan(SegmentHeader.Length, 100)]);
    }

    private sealed class SteppedTime : TimeProvider
    {
        private DateTimeOffset _now = new(2026, 1, 2, 3, 4, 5, TimeSpan.Zero);

        public void Step(TimeSpan step) => _now += step;

        public override DateTimeOffset GetUtcNow() => _now;
    }
}
