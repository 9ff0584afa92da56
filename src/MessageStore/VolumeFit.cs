namespace EQueue.MessageStore;

/// <summary>Makes sizes that were not set fit the volume on which a store lives.</summary>
internal static class VolumeFit
{
    /// <summary>A volume holds so many segments, unless they must be larger to hold a batch.</summary>
    private const int SegmentsInVolume = 32;

    /// <summary>Beside the reserve there is room for so many segments: the active one, the next, and two sealed
    /// ones.</summary>
    private const int LeastSegments = 4;

    /// <summary>What the reserve holds beside two segments, a snapshot above all, and its largest part of a small
    /// volume.</summary>
    private const long SnapshotRoom = 64L << 20;

    private const int SnapshotPart = 16;

    /// <summary>The settings as they are used.</summary>
    /// <exception cref="StoreFitException">The volume, were it empty, is too small.</exception>
    public static StoreOptions Fit(StoreOptions options, IDisk disk)
    {
        if (options.Disk is MemoryDisk)
            return options.FitToDisk();
        long capacity = disk.CapacityBytes(options.DataDirectory);
        long room = RoomOf(options.DataDirectory, disk);
        Check(options, capacity);
        long segment = SegmentOf(options, room);
        return options with
        {
            SegmentSizeBytes = segment,
            ReserveBytes = options.ReserveBytes ?? ReserveOf(segment, room),
        };
    }

    private static void Check(StoreOptions options, long capacity)
    {
        long segment = SegmentOf(options, capacity);
        long reserve = options.ReserveBytes ?? ReserveOf(segment, capacity);
        if (capacity - reserve >= LeastSegments * segment)
            return;
        string found = $"The volume of {options.DataDirectory} has {capacity} bytes: too few for ";
        if (options.ReserveBytes is not null)
        {
            throw new StoreFitException(
                nameof(StoreOptions.ReserveBytes),
                $"{found}{nameof(StoreOptions.ReserveBytes)} {reserve}. Lessen it, or give the data directory a larger "
                + "volume.");
        }

        long largest = LargestBatch(capacity);
        string remedy = largest < StoreOptions.SmallestBatchBytes
            ? ""
            : $"Set Limits:MaxMessageBytes to {largest - (64 << 10)} or less and Store:SegmentSizeBytes to "
                + $"{(options with { MaxBatchBytes = (int)largest }).SegmentForBatch}, or ";
        throw new StoreFitException(
            nameof(StoreOptions.MaxBatchBytes),
            $"{found}batches of {options.MaxBatchBytes} bytes (Limits:MaxMessageBytes and 64 KiB). {remedy}give the "
            + "data directory (--data) a larger volume.");
    }

    /// <summary>The largest batch with which <see cref="Check"/> passes, a unit of segments less.</summary>
    private static long LargestBatch(long capacity) =>
        ((capacity - (capacity / SnapshotPart)) / (LeastSegments + 2)) - (2 * StoreOptions.SmallestSegmentBytes);

    /// <summary>The segments of a replica that follows.</summary>
    public static long SegmentOf(ReplicaFilesOptions options, IDisk disk) =>
        options.LeastSegmentBytes is { } least
            ? SegmentOf(options.SegmentSizeBytes, least, RoomOf(options.DataDirectory, disk))
            : options.SegmentSizeBytes;

    /// <summary>What the volume has for a log: what is free, and what the log has by now.</summary>
    private static long RoomOf(string dataDirectory, IDisk disk)
    {
        long stored = disk.List(LogFiles.LogDirectory(dataDirectory)).Sum(file => file.Size);
        return Math.Min(disk.CapacityBytes(dataDirectory), stored + disk.FreeBytes(dataDirectory));
    }

    private static long SegmentOf(StoreOptions options, long room) =>
        SegmentOf(options.SegmentSizeBytes, options.SegmentForBatch, room);

    private static long SegmentOf(long wanted, long least, long room)
    {
        long fitting = room / SegmentsInVolume / StoreOptions.SmallestSegmentBytes * StoreOptions.SmallestSegmentBytes;
        return Math.Min(wanted, Math.Max(fitting, least));
    }

    private static long ReserveOf(long segment, long room) =>
        (2 * segment) + Math.Min(SnapshotRoom, room / SnapshotPart);
}
