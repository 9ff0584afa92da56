namespace EQueue.MessageStore;

/// <summary>How a <see cref="QueueStore"/> keeps its log. Checked by <see cref="Validate"/> when the store
/// opens.</summary>
public sealed record StoreOptions
{
    /// <summary>The smallest segment, for tests.</summary>
    public const int SmallestSegmentBytes = 64 << 10;

    /// <summary>The largest segment: positions inside it fit into 31 bits.</summary>
    internal const int LargestSegmentBytes = int.MaxValue - (64 << 10);

    /// <summary>The smallest bound of a batch that may be set.</summary>
    internal const int SmallestBatchBytes = 1024;

    /// <summary>Bytes that a segment or the tail memory has beside the largest batch.</summary>
    private const int BesideBatch = 1024;

    /// <summary>Memory is cut into so many segments, unless they must be larger to hold a batch.</summary>
    private const int SegmentsInMemory = 32;

    /// <summary>The slowest scrub that is not off: a piece of it is read in a few seconds.</summary>
    public const int SmallestScrubRate = 64 << 10;

    /// <summary>The folder of this store alone; made when it does not exist.</summary>
    public required string DataDirectory { get; init; }

    /// <summary>When an append is acknowledged. Default: Sync.</summary>
    public FlushPolicy FlushPolicy { get; init; } = FlushPolicy.Sync;

    /// <summary>With <see cref="FlushPolicy.Async"/>: the longest time that something written stays not durable; 1 ms
    /// to 1 h. Default: 100 ms.</summary>
    public TimeSpan FlushInterval { get; init; } = TimeSpan.FromMilliseconds(100);

    /// <summary>Bytes of a segment file after its header, at most: a small volume gets smaller ones, a thirty-second of
    /// what it gives; 64 KiB to 2 GiB - 64 KiB. An entry never spans two. Default: 512 MiB.</summary>
    public long SegmentSizeBytes { get; init; } = 512L << 20;

    /// <summary>A segment older than this takes no more entries; 1 s to 30 days. Default: 1 h.</summary>
    public TimeSpan SegmentMaxAge { get; init; } = TimeSpan.FromHours(1);

    /// <summary>Memory that stages appends and serves readers of the newest bytes; 32 KiB to 1 GiB, used as the next
    /// power of two. Default: 32 MiB.</summary>
    public long TailMemoryBytes { get; init; } = 32L << 20;

    /// <summary>The newest bytes of the log that stay in the system's page cache; 0 or more. Older ones are read from
    /// disk. Default: 256 MiB.</summary>
    public long PageCacheBytes { get; init; } = 256L << 20;

    /// <summary>The largest batch in bytes: 1 KiB up to an eighth of <see cref="TailMemoryBytes"/> * 3 and less than
    /// a segment. Default: 4,160 KiB.</summary>
    public int MaxBatchBytes { get; init; } = (4 << 20) + (64 << 10);

    /// <summary>Bytes that the log's segments may take before the oldest messages go, at the next
    /// <see cref="QueueStore.ApplyRetentionAsync"/>; <see langword="null"/>: 80 % of what the volume could give
    /// them. Default: null.</summary>
    public long? MaxLogBytes { get; init; }

    /// <summary>Bytes of kept messages that are read and written a second while mostly dead segments are packed; 64 KiB
    /// or more. Default: 32 MiB.</summary>
    public long PackBytesPerSecond { get; init; } = 32L << 20;

    /// <summary>Free disk below which messages are refused so that state can go on; <see langword="null"/>: two
    /// segments and 64 MiB, or a sixteenth of a small volume. Default: null.</summary>
    public long? ReserveBytes { get; init; }

    /// <summary>The longest time between two snapshots while state changes; 1 s to 1 day. Default: 1 min.</summary>
    public TimeSpan SnapshotInterval { get; init; } = TimeSpan.FromSeconds(60);

    /// <summary>Bytes of state records after which a snapshot is taken at once; 64 KiB or more.
    /// Default: 64 MiB.</summary>
    public long SnapshotStateBytes { get; init; } = 64L << 20;

    /// <summary>Producers remembered for duplicate detection; beyond, the longest silent one is forgotten; 1 or
    /// more. Default: 100,000.</summary>
    public int MaxProducers { get; init; } = 100_000;

    /// <summary>Memory for the producers that are remembered, each with the queues it sends to; 64 KiB or more. Beyond
    /// it a producer that begins in another queue gets UnknownProducer, and one that begins anew has the longest silent
    /// forgotten. Default: 256 MiB.</summary>
    public long MaxProducerBytes { get; init; } = 256L << 20;

    /// <summary>Where the ids of producers come from, for a test that has to know them; null = random ones.</summary>
    internal Func<long>? ProducerIds { get; init; }

    /// <summary>Queues that may exist at once; 1 or more. Default: 1,000,000.</summary>
    public int MaxQueues { get; init; } = 1_000_000;

    /// <summary>Bytes a second that all readers of cold messages together get from disk while messages are appended, or
    /// twice what is appended if that is more; 1 MiB or more. Default: 64 MiB.</summary>
    public long ColdReadBytesPerSecond { get; init; } = 64L << 20;

    /// <summary>Threads that read cold messages from disk; 1 to 16. Default: 2.</summary>
    public int ReaderThreads { get; init; } = 2;

    /// <summary>Bytes per second at which sealed segments are read again to find damage: 64 KiB or more; 0 = never.
    /// The default reads 345 GB a day and hardly shows beside what any disk gives. Default: 4 MiB.</summary>
    public long ScrubBytesPerSecond { get; init; } = 4L << 20;

    /// <summary>A pass of the scrub over all sealed segments starts at most this often; 1 s to 30 days.
    /// Default: 1 d.</summary>
    public TimeSpan ScrubInterval { get; init; } = TimeSpan.FromHours(24);

    /// <summary>Opens a log whose state (topics, offsets) cannot be brought back instead of refusing. Loses that state.
    /// For one start. Default: false.</summary>
    public bool AcceptLostState { get; init; }

    /// <summary>Takes the wall clock for right although the log's stored times are ahead of it: they go back to the
    /// clock's. For one start. Default: false.</summary>
    public bool AcceptClock { get; init; }

    /// <summary>The files; <see langword="null"/>: those of this system. Over a <see cref="MemoryDisk"/> segments and
    /// reserve follow its limit, and there is no scrub. Default: null.</summary>
    public IDisk? Disk { get; init; }

    /// <summary>What becomes of messages when a <see cref="MemoryDisk"/> is full. Default: Reject.</summary>
    public MemoryFull MemoryFull { get; init; } = MemoryFull.Reject;

    /// <summary>Free bytes below which the store takes no messages.</summary>
    internal long EffectiveReserveBytes => ReserveBytes ?? (2 * SegmentSizeBytes) + (64L << 20);

    /// <summary>Free bytes that the volume must have before messages are taken: the reserve, and a segment to write.
    /// </summary>
    public long NeededFreeBytes => EffectiveReserveBytes + SegmentSizeBytes;

    /// <summary>The settings with the sizes that a store uses on the volume of the data directory: smaller segments and
    /// a smaller reserve where there is little room.</summary>
    /// <exception cref="StoreFitException">The volume, were it empty, is too small.</exception>
    /// <exception cref="DiskException">The folder does not exist or cannot be read.</exception>
    public StoreOptions FitToVolume() => VolumeFit.Fit(
        this with { DataDirectory = Path.GetFullPath(DataDirectory) }, Disk ?? PortableDisk.ForThisSystem());

    /// <summary>Whether the volume has so little room that a store with these sizes takes no messages.</summary>
    /// <exception cref="DiskException">The folder does not exist or cannot be read.</exception>
    public bool IsVolumeFull() =>
        (Disk ?? PortableDisk.ForThisSystem()).FreeBytes(DataDirectory) < EffectiveReserveBytes;

    /// <summary>The segment that the largest batch needs, in whole units of the smallest.</summary>
    internal long SegmentForBatch =>
        (MaxBatchBytes + BesideBatch + SmallestSegmentBytes - 1) / SmallestSegmentBytes * SmallestSegmentBytes;

    /// <summary>Throws when a setting is out of its range.</summary>
    /// <exception cref="ArgumentException">Names the setting, its range and what was found.</exception>
    public void Validate()
    {
        Require(!string.IsNullOrWhiteSpace(DataDirectory), nameof(DataDirectory), "a folder", DataDirectory);
        Require(Enum.IsDefined(FlushPolicy), nameof(FlushPolicy), "Sync or Async", FlushPolicy);
        Require(
            FlushInterval >= TimeSpan.FromMilliseconds(1) && FlushInterval <= TimeSpan.FromHours(1),
            nameof(FlushInterval), "1 ms to 1 h", FlushInterval);
        Require(
            SegmentSizeBytes >= SmallestSegmentBytes && SegmentSizeBytes <= LargestSegmentBytes,
            nameof(SegmentSizeBytes), "64 KiB to 2 GiB - 64 KiB", SegmentSizeBytes);
        Require(
            SegmentMaxAge >= TimeSpan.FromSeconds(1) && SegmentMaxAge <= TimeSpan.FromDays(30),
            nameof(SegmentMaxAge), "1 s to 30 days", SegmentMaxAge);
        Require(
            TailMemoryBytes is >= 32 << 10 and <= 1 << 30, nameof(TailMemoryBytes), "32 KiB to 1 GiB", TailMemoryBytes);
        long largest = Math.Min(TailMemoryBytes / 8 * 3, SegmentSizeBytes) - BesideBatch;
        Require(
            MaxBatchBytes >= SmallestBatchBytes && MaxBatchBytes <= largest,
            nameof(MaxBatchBytes), $"1 KiB to {largest} bytes (three eighths of TailMemoryBytes, less than a segment)",
            MaxBatchBytes);
        Require(PageCacheBytes >= 0, nameof(PageCacheBytes), "0 or more", PageCacheBytes);
        Require(
            MaxLogBytes is null || MaxLogBytes >= 2 * FitToDisk().SegmentSizeBytes,
            nameof(MaxLogBytes), "two segments or more", MaxLogBytes);
        Require(PackBytesPerSecond >= 64 << 10, nameof(PackBytesPerSecond), "64 KiB or more", PackBytesPerSecond);
        Require(ReserveBytes is null or >= 0, nameof(ReserveBytes), "0 or more", ReserveBytes);
        Require(
            SnapshotInterval >= TimeSpan.FromSeconds(1) && SnapshotInterval <= TimeSpan.FromDays(1),
            nameof(SnapshotInterval), "1 s to 1 day", SnapshotInterval);
        Require(
            SnapshotStateBytes >= 64 << 10, nameof(SnapshotStateBytes), "64 KiB or more", SnapshotStateBytes);
        Require(Enum.IsDefined(MemoryFull), nameof(MemoryFull), "Reject, Block or OldestOut", MemoryFull);
        if (Disk is MemoryDisk memory)
        {
            Require(
                SegmentForBatch <= memory.LargestSegmentBytes,
                nameof(MaxBatchBytes), $"{memory.LargestSegmentBytes - BesideBatch} or less (an eighth of the memory)",
                MaxBatchBytes);
        }
        else
        {
            Require(MemoryFull == MemoryFull.Reject, nameof(MemoryFull), "Reject without a MemoryDisk", MemoryFull);
        }
        Require(MaxProducerBytes >= 64 << 10, nameof(MaxProducerBytes), "64 KiB or more", MaxProducerBytes);
        Require(MaxProducers >= 1, nameof(MaxProducers), "1 or more", MaxProducers);
        Require(MaxQueues >= 1, nameof(MaxQueues), "1 or more", MaxQueues);
        Require(
            ScrubBytesPerSecond == 0 || ScrubBytesPerSecond >= SmallestScrubRate,
            nameof(ScrubBytesPerSecond), "0 or 64 KiB or more", ScrubBytesPerSecond);
        Require(
            ScrubInterval >= TimeSpan.FromSeconds(1) && ScrubInterval <= TimeSpan.FromDays(30),
            nameof(ScrubInterval), "1 s to 30 days", ScrubInterval);
        Require(
            ColdReadBytesPerSecond >= 1 << 20, nameof(ColdReadBytesPerSecond), "1 MiB or more", ColdReadBytesPerSecond);
        Require(ReaderThreads is >= 1 and <= 16, nameof(ReaderThreads), "1 to 16", ReaderThreads);
    }

    /// <summary>The settings as they are used: over memory, sizes that fit its limit, and a full memory says no before
    /// it lets go of anything that its topics keep.</summary>
    internal StoreOptions FitToDisk()
    {
        if (Disk is not MemoryDisk memory)
            return this;
        long fitting = Math.Max(memory.LimitBytes / SegmentsInMemory, SegmentForBatch);
        long segment = Math.Min(SegmentSizeBytes, fitting);
        return this with
        {
            SegmentSizeBytes = segment,
            ReserveBytes = ReserveBytes ?? 2 * segment,
            MaxLogBytes = MaxLogBytes ?? long.MaxValue,
            ScrubBytesPerSecond = 0,
        };
    }

    private static void Require(bool holds, string setting, string range, object? found)
    {
        if (!holds)
            throw new ArgumentException($"{setting} must be {range}; found {found ?? "nothing"}.", setting);
    }
}
