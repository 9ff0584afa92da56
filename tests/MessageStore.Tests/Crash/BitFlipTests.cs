using System.Buffers;
using System.Collections.Concurrent;
using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>
/// One bit of a closed store rots, at any place of any of its files: what an entry held is reported lost and nothing
/// else is, everything else is repaired from what it derives from, or meant nothing. EQUEUE_FLIPS sets how many
/// flips (5,000), EQUEUE_FLIP_SEED where the seeds begin.
/// </summary>
public sealed class BitFlipTests
{
    private const int LogsPerPolicy = 5;
    private const int Appends = 40;
    private const int AtOnce = 4;

    private static readonly int Flips = LongRun.Length("EQUEUE_FLIPS", 1_500, 20_000);

    private static readonly int FirstSeed = LongRun.Setting("EQUEUE_FLIP_SEED", 1);

    private readonly ConcurrentDictionary<string, int> _counts = new(StringComparer.Ordinal);

    private static CancellationToken Cancel => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(FlushPolicy.Sync)]
    [InlineData(FlushPolicy.Async)]
    public async Task GivenAClosedStore_WhenABitRots_ThenAtMostItsEntryIsLostAndThatIsSaid(FlushPolicy policy)
    {
        for (int log = 0; log < LogsPerPolicy; log++)
        {
            int seed = FirstSeed + log;
            CrashHistory history = await CrashRun.RecordAsync(seed, policy, Appends, Cancel);
            var good = new ReadStore(history.Disk.Copy());
            good.Index();
            await good.ReadAsync(policy);
            await Parallel.ForEachAsync(
                Enumerable.Range(0, Math.Max(1, Flips / 2 / LogsPerPolicy)),
                new ParallelOptions { MaxDegreeOfParallelism = AtOnce, CancellationToken = Cancel },
                async (flip, _) => await FlipAsync(good, policy, seed, flip));
        }

        string[] counts = [.. _counts.OrderBy(pair => pair.Key).Select(pair => $"{pair.Value,7:N0}  {pair.Key}")];
        TestContext.Current.TestOutputHelper?.WriteLine(string.Join(Environment.NewLine, counts));
    }

    private async Task FlipAsync(ReadStore good, FlushPolicy policy, int seed, int flip)
    {
        var random = new Random((seed * 1_000_003) + flip);
        (string path, long offset) = good.Pick(random);
        int bit = random.Next(8);
        SimulatedDisk disk = good.Disk.Copy();
        disk.FlipBit(path, offset, bit);
        try
        {
            await CheckAsync(good, disk, policy, path, offset);
        }
        catch (Exception exception) when (exception is not OperationCanceledException)
        {
            throw new InvalidOperationException(
                $"log of seed {seed}, {policy}, flip {flip}: bit {bit} at {offset} of {path}: {exception.Message}",
                exception);
        }
    }

    private async Task CheckAsync(ReadStore good, SimulatedDisk disk, FlushPolicy policy, string path, long offset)
    {
        string kind = Path.GetExtension(path) is { Length: > 0 } suffix ? suffix : Path.GetFileName(path);
        EntrySummary? hit = good.EntryAt(path, offset);
        bool isReported = IsReported(disk, hit);
        var found = new ReadStore(disk);
        await found.ReadAsync(policy);
        string outcome = isReported ? "reported and repaired" : "harmless";
        // The snapshot of the orderly stop stands for every state record, the log for a rotten snapshot.
        Assert.Equal(good.State, found.State);
        Assert.Equal(good.Ends, found.Ends);
        foreach (((uint queue, long at), byte[] batch) in good.Batches)
        {
            if (hit is not null && hit.Queue.Value == queue && hit.FirstOffset.Value == at)
            {
                Assert.False(found.Batches.ContainsKey((queue, at)), "a damaged batch was served");
                Assert.Contains((queue, at), found.Damaged);
                outcome = "reported and lost";
                continue;
            }

            Assert.True(found.Batches.TryGetValue((queue, at), out byte[]? served), $"queue {queue} lost offset {at}");
            Assert.True(batch.AsSpan().SequenceEqual(served), $"queue {queue}: other bytes at offset {at}");
        }

        int lost = hit is { Kind: EntryKind.Messages } ? 1 : 0;
        Assert.Equal(good.Batches.Count - lost, found.Batches.Count);
        Assert.True(hit is null || isReported, "damage of an entry was not reported");
        _counts.AddOrUpdate($"{kind}: {outcome}", 1, (_, count) => count + 1);
    }

    private static bool IsReported(SimulatedDisk disk, EntrySummary? hit)
    {
        try
        {
            IReadOnlyList<BadRange> bad = LogVerifier.Verify(disk, CrashRun.Folder, Cancel).BadRanges;
            return hit is null
                ? bad.Count > 0
                : bad.Any(range => range.Position <= hit.Position
                    && range.Position.Value + range.Size >= hit.Position.Value + hit.Size);
        }
        catch (StoreFormatException)
        {
            return true;
        }
    }

    /// <summary>All that can be read out of a store.</summary>
    private sealed class ReadStore(SimulatedDisk disk)
    {
        private readonly List<EntrySummary> _entries = [];
        private (string Path, long Size)[] _files = [];
        private long[] _bases = [];

        public SimulatedDisk Disk => disk;

        public string State { get; private set; } = "";

        public Dictionary<(uint Queue, long Offset), byte[]> Batches { get; } = [];

        public List<(uint Queue, long Offset)> Damaged { get; } = [];

        public List<(uint Queue, long End)> Ends { get; } = [];

        /// <summary>A place, each byte as likely as any other; small files are not left out.</summary>
        public (string Path, long Offset) Pick(Random random)
        {
            if (random.Next(4) == 0)
            {
                (string small, long size) = _files[random.Next(_files.Length)];
                return (small, random.NextInt64(random.Next(2) == 0 ? size : Math.Min(size, 256)));
            }

            long at = random.NextInt64(_files.Sum(file => file.Size));
            foreach ((string path, long size) in _files)
            {
                if (at < size)
                    return (path, at);
                at -= size;
            }

            throw new InvalidOperationException("unreachable");
        }

        public EntrySummary? EntryAt(string path, long offset)
        {
            if (!path.EndsWith(LogFiles.SegmentSuffix, StringComparison.Ordinal) || offset < SegmentHeader.Length)
                return null;
            Assert.True(LogFiles.TryParse(Path.GetFileName(path), LogFiles.SegmentSuffix, out LogPosition start));
            long position = start.Value + offset - SegmentHeader.Length;
            long end = _bases.FirstOrDefault(one => one > start.Value, long.MaxValue);
            return position >= end
                ? null
                : _entries.Find(entry => entry.Position.Value <= position && position < entry.Position.Value + entry.Size);
        }

        public async Task ReadAsync(FlushPolicy policy)
        {
            SimulatedDisk copy = disk.Copy();
            var state = new MemoryState();
            StoreOptions options = CrashRun.OptionsOn(copy, policy);
            await using QueueStore store = await QueueStore.OpenAsync(
                options, state, NullLoggerFactory.Instance, TimeProvider.System, Cancel);
            State = state.ToString();
            foreach (QueueView view in store.Queues.ToArray())
            {
                Ends.Add((view.Id.Value, view.End.Value));
                await ReadQueueAsync(store, view);
            }

            copy.Kill();
        }

        /// <summary>Remembers where everything is, for <see cref="Pick"/> and <see cref="EntryAt"/>.</summary>
        public void Index()
        {
            _files = [.. disk.Files.Select(path => (path, (long)disk.ReadAll(path).Length)).Where(IsKept)];
            string directory = LogFiles.LogDirectory(CrashRun.Folder);
            _bases = [.. LogFiles.Find(disk, directory, LogFiles.SegmentSuffix).Select(one => one.Value)];
            LogInspector.Open(disk, CrashRun.Folder).ReadEntries(
                default,
                entry =>
                {
                    _entries.Add(entry);
                    return true;
                },
                Cancel);
        }

        private async Task ReadQueueAsync(QueueStore store, QueueView view)
        {
            for (long offset = view.Start.Value; offset < view.End.Value;)
            {
                var bytes = new ArrayBufferWriter<byte>();
                ReadResult result = await store.ReadFromDiskAsync(
                    view.Id, new QueueOffset(offset), 100_000, bytes, Cancel);
                Assert.True(result.NextOffset.Value > offset, $"{result} leads nowhere");
                if (result.Error == ErrorCode.None)
                {
                    foreach (TestBatch.Entry entry in TestBatch.Split(bytes.WrittenSpan, view.Id))
                        Batches.Add((view.Id.Value, entry.FirstOffset), entry.Batch);
                }
                else
                {
                    Assert.Equal(ErrorCode.DamagedData, result.Error);
                    Damaged.Add((view.Id.Value, offset));
                }

                offset = result.NextOffset.Value;
            }
        }

        private static bool IsKept((string Path, long Size) file) =>
            file.Size > 0 && !file.Path.EndsWith(LogFiles.PreparedSuffix, StringComparison.Ordinal);
    }
}
