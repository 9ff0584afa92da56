using System.Diagnostics;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Writes the index of a sealed segment: queue by queue with rising ids, each queue's entries in rising
/// order.</summary>
/// <remarks>
/// One thread. Nothing is under the index's name before <see cref="Complete"/> returns. Layout: a
/// <see cref="SectionFileHeader"/>, section 1 = runs (for each queue its block table and its blocks), section 2 =
/// directory (<see cref="SealedQueue"/> rows), for a packed segment section 3 = placement (<see cref="BlockPlacement"/>
/// rows, queue by queue, block by block).
/// </remarks>
internal sealed class SealedIndexWriter : IDisposable
{
    internal const ushort RunsSection = 1;
    internal const ushort DirectorySection = 2;
    internal const ushort PlacementSection = 3;

    private readonly SectionFileWriter _file;
    private readonly List<SealedQueue> _directory = [];
    private readonly SealedEntry[] _pending = new SealedEntry[SealedBlock.MaxEntries];
    private readonly List<SealedBlock> _blocks = [];
    private readonly bool _isPacked;
    private readonly List<long> _placements = [];
    private int _queuePlacement;
    private byte[] _run = new byte[4 * SealedBlock.MaxLength];
    private int _pendingCount;
    private int _runSize;
    private long _entryCount;

    // The queue that is being written.
    private bool _hasQueue;
    private QueueId _queue;
    private long _queueNextOffset;
    private long _queueLastTimeMs;
    private long _queueFirstOffset;
    private long _queueBytes;
    private int _queueEntryCount;
    private long _queueEndOffset;

    /// <summary>Begins the index of a segment.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="path">The index's final name.</param>
    /// <param name="isPacked">Whether entries stand where their file offsets say, each queue's side by side.</param>
    public SealedIndexWriter(IDisk disk, string path, bool isPacked = false)
    {
        _isPacked = isPacked;
        _file = new SectionFileWriter(disk, path);
        _file.BeginSection();
    }

    internal static ReadOnlySpan<byte> Magic => "EQUEUE\0I"u8;

    /// <summary>Begins a queue; every queue that is open at the seal has its row, also without entries here.</summary>
    /// <param name="queue">Above the last one.</param>
    /// <param name="nextOffset">Its next offset at the segment's end.</param>
    /// <param name="lastStoredTimeMs">Its last stored time up to there; 0 = never.</param>
    public void BeginQueue(QueueId queue, QueueOffset nextOffset, long lastStoredTimeMs)
    {
        EndQueue();
        Debug.Assert(_directory.Count == 0 || queue.Value > _directory[^1].Queue.Value, "queue ids rise");
        _queue = queue;
        _queueNextOffset = nextOffset.Value;
        _queueLastTimeMs = lastStoredTimeMs;
        _queueFirstOffset = -1;
        _queueBytes = 0;
        _queueEntryCount = 0;
        _queueEndOffset = -1;
        _queuePlacement = _placements.Count;
        _hasQueue = true;
    }

    /// <summary>Adds the next entry of the queue that was begun.</summary>
    public void Add(in SealedEntry entry)
    {
        Debug.Assert(_hasQueue, "a queue was begun");
        Debug.Assert(entry.FirstOffset >= _queueEndOffset && entry.EndOffset > entry.FirstOffset, "offsets rise");
        if (_queueEntryCount == 0)
            _queueFirstOffset = entry.FirstOffset;
        _pending[_pendingCount++] = entry;
        _queueEntryCount++;
        _queueBytes += entry.Size;
        _queueEndOffset = entry.EndOffset;
        if (_pendingCount == _pending.Length)
            EndBlock();
    }

    /// <summary>Makes the index durable under its name.</summary>
    /// <param name="storeId">Of the store.</param>
    /// <param name="logId">Of the log.</param>
    /// <param name="basePosition">Of the segment.</param>
    /// <param name="endPosition">After its seal.</param>
    /// <param name="epoch">The log's.</param>
    /// <param name="createdMs">Now, Unix milliseconds.</param>
    public void Complete(
        Guid storeId, Guid logId, LogPosition basePosition, LogPosition endPosition, int epoch, long createdMs)
    {
        EndQueue();
        _file.EndSection(RunsSection, _entryCount);
        _file.BeginSection();
        Span<byte> row = stackalloc byte[SealedQueue.RowSize];
        foreach (SealedQueue queue in _directory)
        {
            queue.Write(row);
            _file.Write(row);
        }

        _file.EndSection(DirectorySection, _directory.Count);
        if (_isPacked)
            WritePlacements();
        var header = new SectionFileHeader
        {
            StoreId = storeId,
            LogId = logId,
            StartPosition = basePosition,
            EndPosition = endPosition,
            Epoch = epoch,
            CreatedMs = createdMs,
        };
        _file.Complete(header, Magic);
    }

    /// <inheritdoc/>
    public void Dispose() => _file.Dispose();

    private void WritePlacements()
    {
        _file.BeginSection();
        Span<byte> row = stackalloc byte[BlockPlacement.RowSize];
        foreach (long placement in _placements)
        {
            BlockPlacement.Write(row, placement);
            _file.Write(row);
        }

        _file.EndSection(PlacementSection, _placements.Count);
    }

    private void EndBlock()
    {
        if (_pendingCount == 0)
            return;
        if (_isPacked)
            _placements.Add(_pending[0].FileOffset);
        if (_run.Length - _runSize < SealedBlock.MaxLength)
            Array.Resize(ref _run, _run.Length * 2);
        var block = SealedBlock.Encode(
            _pending.AsSpan(0, _pendingCount), (uint)_runSize, _run.AsSpan(_runSize));
        _blocks.Add(block);
        _runSize += block.Length;
        _pendingCount = 0;
    }

    private void EndQueue()
    {
        if (!_hasQueue)
            return;

        EndBlock();
        long runOffset = _file.SectionLength;
        Span<byte> row = stackalloc byte[SealedBlock.RowSize];
        foreach (SealedBlock block in _blocks)
        {
            block.Write(row);
            _file.Write(row);
        }

        _file.Write(_run.AsSpan(0, _runSize));
        long nextOffset = Math.Max(_queueNextOffset, _queueEndOffset);
        _directory.Add(new SealedQueue
        {
            Queue = _queue,
            EntryCount = _queueEntryCount,
            FirstOffset = _queueEntryCount == 0 ? nextOffset : _queueFirstOffset,
            NextOffset = nextOffset,
            Bytes = _queueBytes,
            LastStoredTimeMs = _queueLastTimeMs,
            RunOffset = runOffset,
            BlockCount = _blocks.Count,
            PlacementOffset = _isPacked ? (long)_queuePlacement * BlockPlacement.RowSize : 0,
        });
        _entryCount += _queueEntryCount;
        _blocks.Clear();
        _runSize = 0;
        _hasQueue = false;
    }
}
