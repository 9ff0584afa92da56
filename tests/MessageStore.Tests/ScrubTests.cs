using System.Collections.Concurrent;
using EQueue.Support;

namespace EQueue.MessageStore.Tests;

/// <summary>Sealed segments are read again, slowly, and what rotted in them is found.</summary>
public sealed class ScrubTests : StoreTest
{
    private const int BatchCount = 60;

    private readonly SteppedTime _time = new();
    private readonly CollectedLog _logger = new();
    private List<TestBatch.Entry> _entries = [];

    public ScrubTests() => Time = _time;

    private string Logs => Path.Combine(Folder, "logs", "0");

    private StoreOptions Scrubbed => Small with
    {
        SegmentSizeBytes = 64 << 10,
        MaxBatchBytes = 16 << 10,
        TailMemoryBytes = 64 << 10,
        PageCacheBytes = 0,
        ScrubBytesPerSecond = 64 << 10,
        ScrubInterval = TimeSpan.FromHours(1),
    };

    [Fact]
    public async Task GivenABitThatFlippedInASealedSegment_WhenPassesGoBy_ThenEachReportsItOnce()
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed);
        TestBatch.Entry rotten = _entries[5];
        Flip(Segments()[0], Segment.HeaderSize + rotten.Position + 2_000);

        for (int pass = 1; pass <= 3; pass++)
        {
            await RunPassAsync(store);
            Assert.Equal(pass, store.Figures.ScrubBadRanges);
            string line = DamageLines()[pass - 1];
            Assert.Contains(Path.GetFileName(Segments()[0]), line, StringComparison.Ordinal);
            Assert.Contains($"{_entries[6].Position - rotten.Position} bytes", line, StringComparison.Ordinal);
            Assert.Contains($"position {rotten.Position} ", line, StringComparison.Ordinal);
            Assert.Equal(pass, DamageLines().Length);
            Assert.Equal(_time.GetUtcNow().ToUnixTimeMilliseconds(), store.Figures.LastScrubEndTimeMs);
        }

        Assert.Equal(ErrorCode.DamagedData, (await ReadAsync(store, QueueOf(store), 5)).Result.Error);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenASegmentThatIsGone_WhenAPassComesBy_ThenItCountsAsLostThoughNobodyReadIt(bool withIndex)
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed);
        File.Delete(Segments()[1]);
        if (withIndex)
            File.Delete(Indexes()[1]);
        Assert.Equal(0, store.Figures.SegmentsLost);

        for (int pass = 1; pass <= 2; pass++)
        {
            await RunPassAsync(store);
            Assert.Equal((1, 0), (store.Figures.SegmentsLost, store.Figures.ScrubBadRanges));
            Assert.Equal(1, _logger.CountOf(2220));
        }
    }

    [Fact]
    public async Task GivenAWholeLog_WhenAPassEnds_ThenEveryByteOfItWasReadAndNothingIsReported()
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed);
        await RunPassAsync(store);
        Assert.Equal(0, store.Figures.ScrubBadRanges);
        Assert.Empty(DamageLines());
        long atLeast = store.Figures.ScrubbedBytes;
        long logBytes = Indexes().Length * Scrubbed.SegmentSizeBytes;
        Assert.InRange(atLeast, (logBytes / 10 * 7) + Indexes().Sum(path => new FileInfo(path).Length), logBytes * 2);
    }

    [Fact]
    public async Task GivenADamagedSegmentHeader_WhenAPassGoesBy_ThenItIsReported()
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed);
        Flip(Segments()[1], 50);
        await RunPassAsync(store);
        Assert.Contains($"{SegmentHeader.Length} bytes", Assert.Single(DamageLines()), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(4096)]
    [InlineData(-1)]
    public async Task GivenADamagedIndex_WhenAPassGoesBy_ThenItIsReportedAndRebuilt(int damagedByte)
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed);
        string index = Indexes()[0];
        long length = new FileInfo(index).Length;
        if (damagedByte < 0)
        {
            File.Delete(index);
        }
        else
        {
            Flip(index, damagedByte);
        }

        await RunPassAsync(store);
        Assert.Contains(Path.GetFileName(index), Assert.Single(DamageLines()), StringComparison.Ordinal);
        Assert.Contains(_logger.Texts, line => line.StartsWith("Rebuilt the index", StringComparison.Ordinal));
        Assert.Equal(length, new FileInfo(index).Length);

        await RunPassAsync(store);
        Assert.Equal(1, store.Figures.ScrubBadRanges);
        Assert.Equal(BatchCount, (await ReadAllAsync(store, QueueOf(store))).Count);
    }

    [Fact]
    [EffectOf("Store:ScrubBytesPerSecond")]
    public async Task GivenARate_WhenAPassRuns_ThenItNeverReadsMoreThanTheRateAllows()
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed);
        long largest = 0;
        Disk.OnRead = (_, _, length) => largest = Math.Max(largest, length);
        (TimeSpan started, long before) = (await NextPassAsync(store), store.Figures.ScrubbedBytes);
        long passes = store.Figures.ScrubPasses;
        int steps = 0;
        for (; store.Figures.ScrubPasses == passes; steps++)
        {
            await StepAsync(store, passes);
            AssertWithinRate(store.Figures.ScrubbedBytes - before, _time.Now - started, Volatile.Read(ref largest));
        }

        long read = store.Figures.ScrubbedBytes - before;
        AssertWithinRate(read, _time.Now - started, largest);
        Assert.InRange(largest, 1, ScrubPace.PieceBytes);
        Assert.InRange(largest, 1, read / 3);
        Assert.True(steps > 6);
    }

    [Fact]
    [EffectOf("Store:ScrubInterval")]
    public async Task GivenAnInterval_WhenAPassHasEnded_ThenTheNextBeginsThatLongAfterItsBeginning()
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed);
        TimeSpan first = await NextPassAsync(store);
        await RunPassAsync(store);
        TimeSpan second = await NextPassAsync(store);
        Assert.InRange(second - first, Scrubbed.ScrubInterval, Scrubbed.ScrubInterval * 1.5);
    }

    [Fact]
    public async Task GivenAReadOfTheScrubThatHangs_WhenAppendingAndReading_ThenNeitherWaitsForIt()
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed);
        using var gate = new Gate();
        string first = Segments()[0];
        Disk.OnRead = (path, offset, _) =>
        {
            if (path == first && offset == 0)
                gate.Pass();
        };
        gate.Shut();
        await NextPassAsync(store);
        await gate.Reached.WaitAsync(TimeSpan.FromSeconds(30), Cancel);
        int segments = store.Figures.Segments;
        for (int i = 0; i < BatchCount; i++)
            await store.AppendAsync(QueueOf(store), TestBatch.OfSize(4_000, i), Durability.Policy, Cancel);

        Assert.True(store.Figures.Segments > segments);
        Assert.Equal(2 * BatchCount, (await ReadAllAsync(store, QueueOf(store))).Count);
        gate.Open();
    }

    [Fact]
    public async Task GivenAPassThatWaitsForItsNextRead_WhenTheStoreCloses_ThenItEndsAtOnce()
    {
        QueueStore store = await OpenFilledAsync(Scrubbed);
        await NextPassAsync(store);
        await Eventually(() => _time.NextDue is { } due && due - _time.Now < Scrubbed.ScrubInterval / 2);
        await store.DisposeAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(30), Cancel);
        Assert.Null(_time.NextDue);
        Assert.True(File.Exists(Path.Combine(Folder, "clean")));
    }

    [Fact]
    public async Task GivenASegmentThatIsGone_WhenAPassGoesBy_ThenItIsPassedOverAndTheOthersAreChecked()
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed);
        Flip(Segments()[2], Segment.HeaderSize + 3_000);
        File.Delete(Segments()[0]);
        await RunPassAsync(store);
        Assert.Equal(1, store.Figures.ScrubBadRanges);
        Assert.DoesNotContain(_logger.Texts, line => line.StartsWith("Could not scrub", StringComparison.Ordinal));
    }

    [Fact]
    public async Task GivenRetentionThatRemovesWhatIsScrubbed_WhenThePassGoesOn_ThenNothingOfItIsReported()
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed);
        QueueId queue = QueueOf(store);
        using var gate = new Gate();
        string first = Segments()[0];
        Disk.OnRead = (path, offset, _) =>
        {
            if (path == first && offset == 0)
                gate.Pass();
        };
        gate.Shut();
        await NextPassAsync(store);
        await gate.Reached.WaitAsync(TimeSpan.FromSeconds(30), Cancel);
        Flip(first, Segment.HeaderSize + 3_000);
        await store.MoveStartsAsync([(queue, new QueueOffset(BatchCount))], Cancel);
        await store.AppendAsync(queue, TestBatch.OfSize(15_000, 1), Durability.Policy, Cancel);
        await Eventually(() => store.Figures.SegmentsRemoved > 0);
        gate.Open();
        await RunPassAsync(store);
        Assert.Equal(0, store.Figures.ScrubBadRanges);
        Assert.DoesNotContain(_logger.Texts, line => line.StartsWith("Could not scrub", StringComparison.Ordinal));
    }

    [Fact]
    public async Task GivenAPageThatTheDeviceCannotRead_WhenAPassGoesBy_ThenItsEntriesAreReported()
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed);
        string first = Segments()[0];
        const long BadPage = 5 * 4096;
        Disk.OnRead = (path, offset, length) =>
        {
            if (path == first && offset < BadPage + 4096 && offset + length > BadPage)
                throw new DiskException(DiskFault.Io, path, "pread", "bad sector");
        };
        await RunPassAsync(store);
        Assert.Equal(1, store.Figures.ScrubBadRanges);
        TestBatch.Entry[] hit =
        [
            .. _entries.Where(entry => entry.Position + entry.Batch.Length + EntryHeader.Length + 4096 > BadPage
                && entry.Position < BadPage),
        ];
        Assert.Contains($"position {hit[0].Position} ", Assert.Single(DamageLines()), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0, true)]
    [InlineData(1 << 20, false)]
    public async Task GivenOldAndNewSegments_WhenScrubbed_ThenOnlyTheOldOnesLeaveThePageCache(
        int pageCacheBytes, bool isLetGo)
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed with { PageCacheBytes = pageCacheBytes });
        var advised = new ConcurrentQueue<DiskAdvice>();
        Disk.OnAdvise = (_, _, advice) => advised.Enqueue(advice);
        await RunPassAsync(store);
        Assert.Equal(isLetGo, advised.Contains(DiskAdvice.DontNeed));
    }

    [Fact]
    public async Task GivenARateOfZero_WhenTimePasses_ThenNothingIsRead()
    {
        await using QueueStore store = await OpenFilledAsync(Scrubbed with { ScrubBytesPerSecond = 0 });
        _time.MoveTo(_time.Now + TimeSpan.FromDays(3));
        Assert.Null(_time.NextDue);
        Assert.Equal((0, 0), (store.Figures.ScrubPasses, store.Figures.ScrubbedBytes));
    }

    [Fact]
    public void GivenSettingsOutOfRange_WhenValidated_ThenTheyAreNamed()
    {
        StoreOptions[] bad =
        [
            Scrubbed with { ScrubBytesPerSecond = 1000 },
            Scrubbed with { ScrubBytesPerSecond = -1 },
            Scrubbed with { ScrubInterval = TimeSpan.Zero },
            Scrubbed with { ScrubInterval = TimeSpan.FromDays(31) },
        ];
        Assert.All(bad, options => Assert.Contains(
            "Scrub", Assert.Throws<ArgumentException>(options.Validate).Message, StringComparison.Ordinal));
    }

    private static QueueId QueueOf(QueueStore store) => store.Queues.Single(queue => queue.Id != QueueId.State).Id;

    private static void AssertWithinRate(long bytes, TimeSpan time, long largestRead) =>
        Assert.InRange(bytes, 0, (time.TotalSeconds * (64 << 10)) + largestRead);

    private static void Flip(string path, long at)
    {
        using FileStream file = File.Open(path, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite);
        file.Position = at;
        int value = file.ReadByte();
        file.Position = at;
        file.WriteByte((byte)(value ^ 0x10));
    }

    private string[] Segments() => [.. Directory.GetFiles(Logs, "*.log").Order()];

    private string[] Indexes() => [.. Directory.GetFiles(Logs, "*.index").Order()];

    private static bool IsIndexWritten(string line) =>
        line.StartsWith("Wrote ", StringComparison.Ordinal) && line.Contains(".index: ", StringComparison.Ordinal);

    private string[] DamageLines() =>
        [.. _logger.Texts.Where(line => line.StartsWith("The scrub found damage", StringComparison.Ordinal))];

    /// <summary>Opens a store, whose first pass finds nothing to read, and fills a few segments.</summary>
    private async Task<QueueStore> OpenFilledAsync(StoreOptions options)
    {
        QueueStore store = await QueueStore.OpenAsync(options, State, _logger, Time, Cancel);
        await Eventually(() => options.ScrubBytesPerSecond == 0 || store.Figures.ScrubPasses == 1);
        QueueId queue = await OpenQueueAsync(store);
        for (int i = 0; i < BatchCount; i++)
            await store.AppendAsync(queue, TestBatch.OfSize(4_000, i), Durability.Policy, Cancel);

        // The log counts on an index a moment after its file is there: the line says that it does.
        await Eventually(() => _logger.Texts.Count(IsIndexWritten) == store.Figures.Segments - 1);
        _entries = await ReadAllAsync(store, queue);
        return store;
    }

    /// <summary>Moves the clock to where the next pass begins.</summary>
    private async Task<TimeSpan> NextPassAsync(QueueStore store)
    {
        long passes = store.Figures.ScrubPasses;
        await StepAsync(store, passes);
        return _time.Now;
    }

    private async Task RunPassAsync(QueueStore store)
    {
        long passes = store.Figures.ScrubPasses;
        while (store.Figures.ScrubPasses == passes)
            await StepAsync(store, passes);
    }

    /// <summary>Moves the clock to the end of the scrub's next wait, if it waits before its pass ends.</summary>
    private async Task StepAsync(QueueStore store, long passes)
    {
        await Eventually(() => _time.NextDue is not null || store.Figures.ScrubPasses != passes);
        if (store.Figures.ScrubPasses == passes && _time.NextDue is { } due)
            _time.MoveTo(due);
    }
}
