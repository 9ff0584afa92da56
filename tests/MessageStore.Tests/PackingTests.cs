using EQueue.Protocol;
using EQueue.Support;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.MessageStore.Tests;

/// <summary>A long-lived queue among a short-lived one: what little is kept of a segment moves into a pack.</summary>
public sealed class PackingTests : StoreTest
{
    private const int Entries = 160;
    private const int EachNth = 8;
    private const int BodySize = 8_000;

    private StoreOptions Options => Small with
    {
        SegmentSizeBytes = 128 << 10,
        SnapshotInterval = TimeSpan.FromSeconds(1),
        PackBytesPerSecond = 1L << 40,
    };

    [Fact]
    public async Task GivenLittleKept_WhenPacked_ThenItTakesLittleRoomAndIsReadAlsoAfterAReopening()
    {
        QueueId kept, gone;
        int active;
        await using (QueueStore store = await OpenAsync(Options))
        {
            (kept, gone) = await FillAsync(store);
            active = await CountActiveAsync(store, kept) * BodySize;
            await PackAsync(store, gone);
            await AssertKeptAsync(store, kept);
            Assert.Equal(1, await store.MoveStartsAsync([(kept, new QueueOffset(3))], Cancel));
            await AssertKeptAsync(store, kept, from: 3);
        }

        Assert.InRange(LogBytes(), (Entries / EachNth * BodySize) - active, Entries * BodySize / 2);
        LogVerification verification = LogVerifier.Verify(Disk, Folder, Cancel);
        Assert.Empty(verification.BadRanges);
        Assert.True(verification.Messages >= Entries / EachNth);
        Assert.Contains(
            LogInspector.Open(Disk, Folder).Segments,
            segment => segment.File.EndsWith(".pack", StringComparison.Ordinal) && segment.IsIndexWhole == true);
        await using (QueueStore store = await OpenAsync(Options))
        {
            await AssertKeptAsync(store, kept, from: 3);
            Assert.True(store.TryGetQueue(gone, out QueueView view));
            Assert.Equal(view.Start, view.End);
            await AppendUntilRemovedAsync(store, kept, gone);
        }
    }

    [Fact]
    public async Task GivenASegmentThatIsGone_WhenNobodyReadIt_ThenTheOthersArePacked()
    {
        await using QueueStore store = await OpenAsync(Options);
        (QueueId kept, QueueId gone) = await FillAsync(store);
        await Eventually(() => Files(".index").Any());
        File.Delete(Files(".log").First());

        await PackAsync(store, gone);

        Assert.Equal(1, store.Figures.SegmentsLost);
        ReadResult start = (await ReadAsync(store, kept, 0)).Result;
        Assert.Equal(ErrorCode.DamagedData, start.Error);
        long rest = (Entries / EachNth) - start.NextOffset.Value;
        Assert.Equal(rest, (await ReadAllAsync(store, kept, start.NextOffset.Value)).Count);
    }

    [Theory]
    [InlineData(-1)]
    [InlineData(50)]
    [InlineData(5_000)]
    public async Task GivenAPackWithADamagedIndex_WhenOpened_ThenTheIndexIsMadeAgain(int damagedByte)
    {
        QueueId kept, gone;
        await using (QueueStore store = await OpenAsync(Options))
        {
            (kept, gone) = await FillAsync(store);
            await PackAsync(store, gone);
        }

        string index = Files(".pack.index").First();
        if (damagedByte < 0)
        {
            File.Delete(index);
        }
        else
        {
            byte[] bytes = File.ReadAllBytes(index);
            bytes[Math.Min(damagedByte, bytes.Length - 1)] ^= 0x10;
            File.WriteAllBytes(index, bytes);
        }

        await using (QueueStore store = await OpenAsync(Options))
            await AssertKeptAsync(store, kept);
        Assert.Empty(LogVerifier.Verify(Disk, Folder, Cancel).BadRanges);
    }

    [Fact]
    public async Task GivenRotInAPack_WhenReadAndVerified_ThenItIsReportedAndTheRestServed()
    {
        QueueId kept, gone;
        await using (QueueStore store = await OpenAsync(Options))
        {
            (kept, gone) = await FillAsync(store);
            await PackAsync(store, gone);
        }

        string pack = Files(".pack").First();
        byte[] bytes = File.ReadAllBytes(pack);
        bytes[4096 + 100] ^= 1;
        File.WriteAllBytes(pack, bytes);
        BadRange range = Assert.Single(LogVerifier.Verify(Disk, Folder, Cancel).BadRanges);
        Assert.Equal(Path.GetFileName(pack), range.Segment);
        await using (QueueStore store = await OpenAsync(Options))
        {
            (ReadResult damaged, _) = await ReadAsync(store, kept, from: 0);
            Assert.Equal(ErrorCode.DamagedData, damaged.Error);
            await AssertKeptAsync(store, kept, from: damaged.NextOffset.Value);
        }
    }

    [Fact]
    public async Task GivenADamagedIndexOfASource_WhenItIsPacked_ThenTheIndexIsMadeAgainAndNothingIsMissing()
    {
        QueueId kept, gone;
        await using (QueueStore store = await OpenAsync(Options))
            (kept, gone) = await FillAsync(store);
        await using (QueueStore store = await OpenAsync(Options))
        {
            byte[] bytes = File.ReadAllBytes(Files(".index").First());
            bytes[^10] ^= 1;
            File.WriteAllBytes(Files(".index").First(), bytes);
            await PackAsync(store, gone);
            await AssertKeptAsync(store, kept);
        }
    }

    [Fact]
    public async Task GivenRotInASource_WhenItWouldBePacked_ThenItStaysAsItIs()
    {
        QueueId kept, gone;
        await using (QueueStore store = await OpenAsync(Options))
            (kept, gone) = await FillAsync(store);
        await using (QueueStore store = await OpenAsync(Options))
        {
            (string second, long offset) = await PlaceInSecondSegmentAsync(store, kept);
            byte[] bytes = File.ReadAllBytes(second);
            bytes[offset] ^= 1;
            File.WriteAllBytes(second, bytes);
            await PackAsync(store, gone);
            Assert.True(File.Exists(second));
        }
    }

    [Fact]
    public async Task GivenABadSectorInASource_WhenItWouldBePacked_ThenItStaysAndTheOthersArePackedWithoutIt()
    {
        QueueId kept, gone;
        await using (QueueStore store = await OpenAsync(Options))
            (kept, gone) = await FillAsync(store);
        await using (QueueStore store = await OpenAsync(Options))
        {
            (string second, long offset) = await PlaceInSecondSegmentAsync(store, kept);
            Break(second, offset);
            await PackAsync(store, gone);
            Assert.True(File.Exists(second));
            await Eventually(() => !Files(".tmp").Any());
        }
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenAPackThatFails_WhenItIsGivenUp_ThenNoFileOfItIsLeft(bool hasItsName)
    {
        QueueId kept, gone;
        await using (QueueStore store = await OpenAsync(Options))
            (kept, gone) = await FillAsync(store);
        await using (QueueStore store = await OpenAsync(Options))
        {
            int failures = 0;
            void Fail(string path, bool isPack)
            {
                if (isPack && Thread.CurrentThread.Name == "EQueue log cleaner")
                {
                    Interlocked.Increment(ref failures);
                    throw new DiskException(DiskFault.Io, path, "test", "the device fails");
                }
            }

            Disk.OnWrite = (path, _) => Fail(path, !hasItsName && path.EndsWith(".pack.tmp", StringComparison.Ordinal));
            Disk.OnSyncDirectory = path => Fail(path, hasItsName && Files(".pack").Any());
            Assert.True(store.TryGetQueue(gone, out QueueView view));
            await store.MoveStartsAsync([(gone, view.End)], Cancel);
            await Eventually(
                () => failures > 0 && !Files("").Any(path => path.Contains(".pack", StringComparison.Ordinal)));
            await AssertKeptAsync(store, kept);
        }
    }

    [Theory]
    [InlineData(PowerCutStyle.NothingUnsynced)]
    [InlineData(PowerCutStyle.Everything)]
    [InlineData(PowerCutStyle.Prefix)]
    [InlineData(PowerCutStyle.Subset)]
    public async Task GivenARunWithPacking_WhenCutAtAnyChange_ThenAllThatIsKeptIsThere(PowerCutStyle style)
    {
        var disk = new SimulatedDisk(keepsJournal: true);
        StoreOptions options = Options with { Disk = disk, DataDirectory = "/packing/store" };
        QueueId kept, gone;
        int decided;
        await using (QueueStore store = await OpenAsync(options))
        {
            (kept, gone) = await FillAsync(store);
            decided = disk.ChangeCount;
            await PackAsync(store, gone);
        }

        IReadOnlyList<DiskOperation> journal = disk.Journal;
        var replay = new DiskReplay(journal);
        for (int changes = decided; changes <= journal.Count; changes++)
        {
            int size = changes < journal.Count ? journal[changes].Bytes?.Length ?? 0 : 0;
            replay.PlayTo(changes, size / 2);
            SimulatedDisk left = changes % 2 == 0 ? replay.Kill() : replay.CutPower(changes, style);
            await AssertWholeAsync(options with { Disk = left }, kept, gone, $"{style} after {changes} changes");
        }
    }

    [Fact]
    public async Task GivenAPackWhoseNameIsNotDurable_WhenThePowerIsCutInRecovery_ThenItsSourcesAreNotGone()
    {
        var disk = new SimulatedDisk(keepsJournal: true);
        StoreOptions options = Options with { Disk = disk, DataDirectory = "/packing/store" };
        QueueId kept, gone;
        await using (QueueStore store = await OpenAsync(options))
        {
            (kept, gone) = await FillAsync(store);
            await PackAsync(store, gone);
        }

        DiskOperation[] journal = [.. disk.Journal];
        int named = Array.FindIndex(journal, one => one.Target.EndsWith(".pack", StringComparison.Ordinal));
        var replay = new DiskReplay(journal);
        replay.PlayTo(named + 1, 0);
        SimulatedDisk left = replay.KillProcess();
        List<SimulatedDisk> cuts = [];
        left.OnChange = (kind, _) =>
        {
            if (kind is DiskOperationKind.Delete or DiskOperationKind.SyncDirectory)
                cuts.AddRange(Enumerable.Range(0, 8).Select(seed => left.AfterPowerCut(seed)));
        };
        await AssertWholeAsync(options with { Disk = left }, kept, gone, "without a cut");
        Assert.NotEmpty(cuts);
        foreach (SimulatedDisk cut in cuts.Take(400))
            await AssertWholeAsync(options with { Disk = cut }, kept, gone, $"cut {cuts.IndexOf(cut)}");
    }

    private static async Task AssertWholeAsync(StoreOptions options, QueueId kept, QueueId gone, string cut)
    {
        try
        {
            await using QueueStore store = await QueueStore.OpenAsync(
                options, new MemoryState(), NullLoggerFactory.Instance, TimeProvider.System, Cancel);
            await AssertKeptAsync(store, kept);
            Assert.True(store.TryGetQueue(gone, out QueueView view));
            Assert.Equal(
                view.End.Value - view.Start.Value, (await ReadAllAsync(store, gone, view.Start.Value)).Count);
        }
        catch (Exception exception) when (exception is not OperationCanceledException)
        {
            throw new InvalidOperationException($"{cut}: {exception.Message}", exception);
        }
    }

    /// <summary>Entries of the queue that no pack can hold yet.</summary>
    private async Task<int> CountActiveAsync(QueueStore store, QueueId queue)
    {
        long first = LogFiles.Find(Disk, LogFiles.LogDirectory(Folder), LogFiles.SegmentSuffix)[^1].Value;
        return (await ReadAllAsync(store, queue)).Count(entry => entry.Position >= first);
    }

    /// <summary>A byte of an entry that is kept.</summary>
    private async Task<(string Path, long Offset)> PlaceInSecondSegmentAsync(QueueStore store, QueueId kept)
    {
        string second = Files(".log").Skip(1).First();
        long basePosition = long.Parse(Path.GetFileNameWithoutExtension(second), null);
        long position = (await ReadAllAsync(store, kept))
            .Select(entry => entry.Position)
            .First(position => position > basePosition);
        return (second, Segment.HeaderSize + position - basePosition + 200);
    }

    private static async Task<(QueueId Kept, QueueId Gone)> FillAsync(QueueStore store)
    {
        QueueId kept = await OpenQueueAsync(store);
        QueueId gone = await OpenQueueAsync(store);
        for (int i = 0; i < Entries; i++)
        {
            QueueId queue = i % EachNth == 0 ? kept : gone;
            await store.AppendAsync(queue, TestBatch.OfSize(BodySize, i), Durability.Policy, Cancel);
        }

        return (kept, gone);
    }

    /// <summary>Moves the start of one queue to its end, and goes on until the cleaner has done its work.</summary>
    private static async Task PackAsync(QueueStore store, QueueId gone)
    {
        Assert.True(store.TryGetQueue(gone, out QueueView view));
        await store.MoveStartsAsync([(gone, view.End)], Cancel);
        await Eventually(() => store.Figures.SegmentsPacked > 5);
    }

    private static async Task AppendUntilRemovedAsync(QueueStore store, QueueId kept, QueueId gone)
    {
        Assert.True(store.TryGetQueue(kept, out QueueView view));
        await store.MoveStartsAsync([(kept, view.End)], Cancel);
        long deadline = Environment.TickCount64 + 30_000;
        for (int i = 0; store.Figures.SegmentsRemoved == 0; i++)
        {
            Assert.True(Environment.TickCount64 < deadline, "the pack was not removed in 30 s");
            await store.AppendAsync(gone, TestBatch.OfSize(BodySize, i), Durability.Policy, Cancel);
        }
    }

    private static async Task AssertKeptAsync(QueueStore store, QueueId queue, long from = 0)
    {
        List<TestBatch.Entry> entries = await ReadAllAsync(store, queue, from);
        Assert.Equal((Entries / EachNth) - from, entries.Count);
        foreach (TestBatch.Entry entry in entries)
        {
            byte[] sent = TestBatch.OfSize(BodySize, (int)entry.FirstOffset * EachNth);
            RecordBatch.Stamp(sent, new QueueOffset(entry.FirstOffset), entry.Epoch);
            Assert.Equal(sent, entry.Batch);
        }
    }

    private IEnumerable<string> Files(string suffix) => Directory.GetFiles(LogFiles.LogDirectory(Folder))
        .Where(path => path.EndsWith(suffix, StringComparison.Ordinal)).Order(StringComparer.Ordinal);

    private long LogBytes() => Files(".log").SkipLast(1).Concat(Files(".pack")).Sum(path => new FileInfo(path).Length);
}
