using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>One file of the log. Made by the preparer or by recovery; the last of the chain takes the
/// appends.</summary>
internal sealed class Segment(string path, long basePosition, long capacity, long createdTimeMs)
{
    /// <summary>Bytes of the file's header, which has no positions.</summary>
    public const int HeaderSize = 4096;

    private long _endPosition = -1;
    private bool _hasIndex;
    private bool _isLost;
    private Segment? _next;

    /// <summary>The file.</summary>
    public string Path { get; } = path;

    /// <summary>The file of its index, once <see cref="HasIndex"/>.</summary>
    public string IndexPath { get; } = System.IO.Path.GetExtension(path) == PackFile.Suffix
        ? PackFile.IndexOf(path)
        : System.IO.Path.ChangeExtension(path, LogFiles.IndexSuffix);

    /// <summary>For a packed segment: bytes of its file; else 0.</summary>
    public long PackedBytes { get; init; }

    /// <summary>Whether its entries stand queue by queue, found by its index alone.</summary>
    public bool IsPacked => PackedBytes > 0;

    /// <summary>Bytes of its entries that are kept, as the cleaner last counted them; -1 = not yet.</summary>
    public long LiveBytes { get; set; } = -1;

    /// <summary>Bytes that its file takes.</summary>
    public long FileBytes => IsPacked ? PackedBytes : HeaderSize + (IsSealed ? EndPosition - BasePosition : Capacity);

    /// <summary>The position of its first entry.</summary>
    public long BasePosition { get; } = basePosition;

    /// <summary>Bytes of entries that fit, the seal included.</summary>
    public long Capacity { get; } = capacity;

    /// <summary>Unix milliseconds at which it was made.</summary>
    public long CreatedTimeMs { get; } = createdTimeMs;

    /// <summary>The same of a pack, which its index has too; null for a segment.</summary>
    public long? PackedMs => IsPacked ? CreatedTimeMs : null;

    /// <summary>The position after its seal, which is the next one's base; -1 while it takes appends.</summary>
    public long EndPosition
    {
        get => Volatile.Read(ref _endPosition);
        set => Volatile.Write(ref _endPosition, value);
    }

    /// <summary>Whether it takes no more entries.</summary>
    public bool IsSealed => EndPosition >= 0;

    /// <summary>Its file, open for writing, from the preparer until it is sealed and durable; recovery leaves it open
    /// on the last one.</summary>
    public IDiskFile? File { get; set; }

    /// <summary>The name under which the file was made ahead of need; null once it has its own name.</summary>
    public string? PreparedPath { get; set; }

    /// <summary>Whether the folder must be synced before anything in here may be called durable.</summary>
    public bool NeedsDirectorySync { get; set; }

    /// <summary>The next of the chain; set with <see cref="EndPosition"/>.</summary>
    public Segment? Next
    {
        get => Volatile.Read(ref _next);
        set => Volatile.Write(ref _next, value);
    }

    /// <summary>Runs of its entries in memory, in the order they began; under the log's lock. Empty once the index
    /// file is written.</summary>
    public List<(Queue Queue, IndexRun Run)> Runs { get; set; } = [];

    /// <summary>Whether its file is gone or cannot be opened: its messages are lost for readers, who go on behind
    /// them.</summary>
    public bool IsLost
    {
        get => Volatile.Read(ref _isLost);
        set => Volatile.Write(ref _isLost, value);
    }

    /// <summary>Whether its index file is written and durable. Recovery sets it for those it found or
    /// rebuilt.</summary>
    public bool HasIndex
    {
        get => Volatile.Read(ref _hasIndex);
        set => Volatile.Write(ref _hasIndex, value);
    }

    /// <summary>The segment whose entries a pack holds.</summary>
    public static Segment OfPack(IDisk disk, PackFile pack)
    {
        using IDiskFile file = disk.Open(pack.Path, DiskOpen.ReadOnly);
        return new Segment(pack.Path, pack.From.Value, pack.To.Value - pack.From.Value, pack.CreatedMs)
        {
            EndPosition = pack.To.Value,
            PackedBytes = file.Length,
        };
    }

    /// <summary>Opens its index; only once <see cref="HasIndex"/>.</summary>
    /// <exception cref="StoreFormatException">It is missing, damaged, or another segment's.</exception>
    public SealedIndex OpenIndex(IDisk disk, Guid logId) =>
        SealedIndex.Open(disk, logId, IndexPath, new LogPosition(BasePosition));

    /// <summary>Where a position lies in the file.</summary>
    public long FileOffsetOf(long position) => HeaderSize + position - BasePosition;
}
