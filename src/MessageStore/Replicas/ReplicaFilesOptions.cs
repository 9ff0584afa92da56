namespace EQueue.MessageStore;

/// <summary>Where a replica's directory is and how it is written.</summary>
public sealed record ReplicaFilesOptions
{
    /// <summary>The least time between two notes of what is durable, but for those at the ends of segments.</summary>
    public static readonly TimeSpan NoteInterval = TimeSpan.FromSeconds(1);

    /// <summary>The data directory: made when it is not there.</summary>
    public required string DataDirectory { get; init; }

    /// <summary>Room for which a segment file is made; one with more in it grows. Default: 1 GiB.</summary>
    public long SegmentSizeBytes { get; init; } = 1L << 30;

    /// <summary>On a small volume segments are made smaller, as a leader's are, but for no less than this; null = they
    /// never are. Default: null.</summary>
    public long? LeastSegmentBytes { get; init; }

    /// <summary>Another way to the disk; null = the system's. Default: null.</summary>
    public IDisk? Disk { get; init; }

    /// <summary>How a replica keeps files below a directory with a store's settings.</summary>
    /// <param name="directory">The replica's data directory.</param>
    /// <param name="store">The store's settings.</param>
    public static ReplicaFilesOptions Of(string directory, StoreOptions store)
    {
        ArgumentNullException.ThrowIfNull(store);
        return new ReplicaFilesOptions
        {
            DataDirectory = directory,
            SegmentSizeBytes = store.SegmentSizeBytes,
            LeastSegmentBytes = store.SegmentForBatch,
            Disk = store.Disk,
        };
    }
}
