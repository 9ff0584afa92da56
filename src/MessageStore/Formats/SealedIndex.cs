using System.Buffers;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>The index of a sealed segment, open for look-ups. Layout: <see cref="SealedIndexWriter"/>.</summary>
/// <remarks>
/// Any thread: look-ups are positioned reads of rows and blocks that carry their own checksums, nothing is kept in
/// memory.
/// A damaged index throws <see cref="StoreFormatException"/>: it is derived and can be rebuilt from its segment.
/// </remarks>
internal sealed partial class SealedIndex : IDisposable
{
    private const int RowsPerRead = 256;

    private readonly SectionFileReader _file;
    private readonly FileSection _runs;
    private readonly FileSection _directory;
    private readonly FileSection? _placement;

    private SealedIndex(
        SectionFileReader file, in FileSection runs, in FileSection directory, FileSection? placement)
    {
        _file = file;
        _runs = runs;
        _directory = directory;
        _placement = placement;
    }

    /// <summary>Whether it is the index of a packed segment.</summary>
    public bool IsPacked => _placement is not null;

    /// <summary>What the index covers.</summary>
    public SectionFileHeader Header => _file.Header;

    /// <summary>Rows of the directory.</summary>
    public long QueueCount => _directory.ItemCount;

    /// <summary>Entries of all runs.</summary>
    public long EntryCount => _runs.ItemCount;

    /// <summary>Opens an index and checks that it is whole at its ends and belongs to this segment.</summary>
    public static FileVerdict TryOpen(
        IDisk disk, string path, Guid logId, LogPosition basePosition, out SealedIndex? index)
    {
        index = null;
        FileVerdict verdict =
            SectionFileReader.TryOpen(disk, path, SealedIndexWriter.Magic, out SectionFileReader? file);
        if (verdict != FileVerdict.Valid)
            return verdict;
        if (file!.Header.LogId != logId || file.Header.StartPosition != basePosition
            || !file.TryFind(SealedIndexWriter.RunsSection, out FileSection runs)
            || !file.TryFind(SealedIndexWriter.DirectorySection, out FileSection directory)
            || directory.ItemCount > directory.Length / SealedQueue.RowSize
            || directory.ItemCount * SealedQueue.RowSize != directory.Length)
        {
            file.Dispose();
            return FileVerdict.Damaged;
        }

        bool isPacked = file.TryFind(SealedIndexWriter.PlacementSection, out FileSection placement);
        index = new SealedIndex(file, runs, directory, isPacked ? placement : null);
        return FileVerdict.Valid;
    }

    /// <summary>The same, and that it covers the segment up to its end and is of its kind: of a pack, made with
    /// it.</summary>
    /// <param name="disk">Where.</param>
    /// <param name="path">The index file.</param>
    /// <param name="logId">Whose.</param>
    /// <param name="basePosition">Where the segment begins.</param>
    /// <param name="endPosition">Where it ends.</param>
    /// <param name="packedMs">When the pack was made: packs of two leaders may have one name; null for a
    /// segment.</param>
    /// <returns>Null when it does not.</returns>
    public static SealedIndex? OpenOf(
        IDisk disk, string path, Guid logId, LogPosition basePosition, LogPosition endPosition, long? packedMs)
    {
        if (TryOpen(disk, path, logId, basePosition, out SealedIndex? index) != FileVerdict.Valid)
            return null;
        bool isOfKind = packedMs is null ? !index!.IsPacked : index!.IsPacked && index.Header.CreatedMs == packedMs;
        if (isOfKind && index.Header.EndPosition == endPosition)
            return index;
        index.Dispose();
        return null;
    }

    /// <summary>Opens an index that must be there, of the segment that begins at this position.</summary>
    /// <exception cref="StoreFormatException">It is missing, damaged, or another segment's.</exception>
    public static SealedIndex Open(IDisk disk, Guid logId, string path, LogPosition basePosition)
    {
        FileVerdict verdict = TryOpen(disk, path, logId, basePosition, out SealedIndex? index);
        return verdict == FileVerdict.Valid
            ? index!
            : throw new StoreFormatException(path, $"the sealed index cannot be used ({verdict}).");
    }

    /// <summary>Reads every byte and compares every checksum of a section.</summary>
    public bool VerifyAll() => _file.VerifyAll();

    /// <summary>The row of a queue; false when the segment was sealed without the queue.</summary>
    public bool TryFind(QueueId queue, out SealedQueue row)
    {
        long low = 0, high = QueueCount;
        while (low < high)
        {
            long middle = low + ((high - low) / 2);
            row = ReadQueue(middle);
            if (row.Queue == queue)
                return true;
            if (row.Queue.Value < queue.Value)
                low = middle + 1;
            else
                high = middle;
        }

        row = default;
        return false;
    }

    /// <summary>The i-th row, in the order of queue ids.</summary>
    public SealedQueue ReadQueue(long row)
    {
        Span<byte> bytes = stackalloc byte[SealedQueue.RowSize];
        if (!_file.TryRead(_directory, row * SealedQueue.RowSize, bytes)
            || !SealedQueue.TryRead(bytes, out SealedQueue queue))
        {
            throw Damaged($"row {row} of the directory does not match its checksum");
        }

        return queue;
    }

    /// <summary>All rows, in the order of queue ids.</summary>
    public IEnumerable<SealedQueue> ReadQueues()
    {
        byte[] bytes = new byte[RowsPerRead * SealedQueue.RowSize];
        for (long first = 0; first < QueueCount; first += RowsPerRead)
        {
            int size = (int)Math.Min(RowsPerRead, QueueCount - first) * SealedQueue.RowSize;
            if (!_file.TryRead(_directory, first * SealedQueue.RowSize, bytes.AsSpan(0, size)))
                throw Damaged($"row {first} of the directory cannot be read");
            for (int at = 0; at < size; at += SealedQueue.RowSize)
            {
                if (!SealedQueue.TryRead(bytes.AsSpan(at, SealedQueue.RowSize), out SealedQueue queue))
                    throw Damaged($"row {first + (at / SealedQueue.RowSize)} of the directory is damaged");
                yield return queue;
            }
        }
    }

    /// <summary>The block that holds the first record at or after an offset; -1 when all blocks end before
    /// it.</summary>
    public int FindBlock(in SealedQueue queue, QueueOffset offset)
    {
        if (offset.Value >= queue.NextOffset || queue.BlockCount == 0)
            return -1;

        // The last block that begins at or before the offset; an offset lost at its end is in none, the next begins
        // after it.
        int low = 0, high = queue.BlockCount - 1;
        while (low < high)
        {
            int middle = (low + high + 1) >>> 1;
            if (ReadBlockRow(queue, middle).FirstOffset <= offset.Value)
                low = middle;
            else
                high = middle - 1;
        }

        return low;
    }

    /// <summary>The last block whose first entry was stored before a time, or the first block; -1 without
    /// entries.</summary>
    public int FindBlockByTime(in SealedQueue queue, long storedTimeMs, TimeResets resets)
    {
        int low = 0, high = queue.BlockCount - 1;
        while (low < high)
        {
            int middle = (low + high + 1) >>> 1;
            SealedBlock block = ReadBlockRow(queue, middle);
            if (resets.Correct(block.FirstPosition, block.FirstTimeMs) < storedTimeMs)
                low = middle;
            else
                high = middle - 1;
        }

        return high < 0 ? -1 : low;
    }

    /// <summary>The last block whose first entry stands before a position of the log, or the first block; -1 without
    /// entries.</summary>
    public int FindBlockByPosition(in SealedQueue queue, long position)
    {
        int low = 0, high = queue.BlockCount - 1;
        while (low < high)
        {
            int middle = (low + high + 1) >>> 1;
            if (ReadBlockRow(queue, middle).FirstPosition < position)
                low = middle;
            else
                high = middle - 1;
        }

        return high < 0 ? -1 : low;
    }

    /// <summary>Reads the entries of a block.</summary>
    /// <param name="queue">A row of this index.</param>
    /// <param name="block">0 to <see cref="SealedQueue.BlockCount"/> - 1.</param>
    /// <param name="entries">Room for <see cref="SealedBlock.MaxEntries"/>.</param>
    /// <returns>How many.</returns>
    public int ReadBlock(in SealedQueue queue, int block, Span<SealedEntry> entries)
    {
        SealedBlock row = ReadBlockRow(queue, block);
        byte[] bytes = ArrayPool<byte>.Shared.Rent(SealedBlock.MaxLength);
        try
        {
            long offset = queue.RunOffset + ((long)queue.BlockCount * SealedBlock.RowSize) + row.BlockOffset;
            if (row.Length > SealedBlock.MaxLength || !_file.TryRead(_runs, offset, bytes.AsSpan(0, row.Length))
                || !row.TryDecode(bytes.AsSpan(0, row.Length), entries)
                || !IsInsideSegment(entries[..row.EntryCount]))
            {
                throw Damaged($"block {block} of queue {queue.Queue} does not match its checksum");
            }

            Place(queue, block, entries[..row.EntryCount]);
            return row.EntryCount;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _file.Dispose();

    private void Place(in SealedQueue queue, int block, Span<SealedEntry> entries)
    {
        if (_placement is not { } placement)
        {
            foreach (ref SealedEntry entry in entries)
            {
                var position = new LogPosition(entry.Position);
                entry = entry with { FileOffset = SegmentHeader.FileOffsetOf(position, Header.StartPosition) };
            }

            return;
        }

        Span<byte> row = stackalloc byte[BlockPlacement.RowSize];
        long offset = queue.PlacementOffset + ((long)block * BlockPlacement.RowSize);
        if (!_file.TryRead(placement, offset, row) || !BlockPlacement.TryRead(row, out long fileOffset))
            throw Damaged($"the place of block {block} of queue {queue.Queue} does not match its checksum");
        foreach (ref SealedEntry entry in entries)
        {
            entry = entry with { FileOffset = fileOffset };
            fileOffset += entry.Size;
        }
    }

    private bool IsInsideSegment(ReadOnlySpan<SealedEntry> entries)
    {
        long end = Header.EndPosition.Value;
        foreach (SealedEntry entry in entries)
        {
            if (entry.Position < Header.StartPosition.Value || entry.Position > end - entry.Size)
                return false;
        }

        return true;
    }

    private SealedBlock ReadBlockRow(in SealedQueue queue, int block)
    {
        Span<byte> bytes = stackalloc byte[SealedBlock.RowSize];
        long offset = queue.RunOffset + ((long)block * SealedBlock.RowSize);
        if (block < 0 || block >= queue.BlockCount || !_file.TryRead(_runs, offset, bytes))
            throw Damaged($"block {block} of queue {queue.Queue} cannot be read");
        if (!SealedBlock.TryRead(bytes, out SealedBlock row))
            throw Damaged($"row {block} of the blocks of queue {queue.Queue} does not match its checksum");
        return row;
    }

    private StoreFormatException Damaged(string what) =>
        new(_file.Path, $"the sealed index is damaged ({what}); it can be rebuilt from its segment.");
}
