namespace EQueue.MessageStore;

/// <summary>
/// The entries of one queue in one segment, without a gap between their offsets: a gap (damage) begins another run, and
/// so does what the differences of an entry cannot say.
/// Written under the log's lock, read by anybody without one: an entry is in its place before the count that covers it.
/// </summary>
/// <remarks>
/// Blocks of 8, 64, then 512 entries, so that a queue with one entry costs 160 bytes and a busy one nothing more per
/// entry.
/// Blocks are never reused: a reader may hold a run that has been dropped, and then reads what it always held.
/// </remarks>
internal sealed class IndexRun(Segment segment, long firstOffset, long firstTimeMs)
{
    private const int FirstBlock = 8;
    private const int SecondBlock = 64;
    private const int Block = 512;

    private IndexEntry[][] _blocks = [new IndexEntry[FirstBlock]];
    private int _count;

    /// <summary>The segment that holds the entries.</summary>
    public Segment Segment { get; } = segment;

    /// <summary>The offset of the first record.</summary>
    public long FirstOffset { get; } = firstOffset;

    /// <summary>The stored time of the first entry.</summary>
    public long FirstTimeMs { get; } = firstTimeMs;

    /// <summary>Entries that readers may look at (but for the visible watermark).</summary>
    public int Count => Volatile.Read(ref _count);

    /// <summary>The queue's run before this one, as long as it is in memory.</summary>
    public IndexRun? Previous { get; set; }

    /// <summary>Bytes of the entries.</summary>
    public long Bytes { get; private set; }

    /// <summary>The offset after the last record.</summary>
    public long EndOffset => Count is var count && count == 0 ? FirstOffset : EndOffsetOf(count - 1);

    /// <summary>The stored time of the last entry.</summary>
    public long LastTimeMs => Count is var count && count == 0 ? FirstTimeMs : TimeOf(count - 1);

    /// <summary>The i-th entry, i &lt; <see cref="Count"/>.</summary>
    public ref readonly IndexEntry this[int index]
    {
        get
        {
            IndexEntry[][] blocks = Volatile.Read(ref _blocks);
            if (index < FirstBlock)
                return ref blocks[0][index];
            index -= FirstBlock;
            if (index < SecondBlock)
                return ref blocks[1][index];
            index -= SecondBlock;
            return ref blocks[2 + (index / Block)][index % Block];
        }
    }

    public long FirstOffsetOf(int index) => index == 0 ? FirstOffset : FirstOffset + this[index - 1].EndOffsetDelta;

    public long EndOffsetOf(int index) => FirstOffset + this[index].EndOffsetDelta;

    public long PositionOf(int index) => Segment.BasePosition + this[index].Position;

    public long TimeOf(int index) => FirstTimeMs + this[index].TimeDeltaMs;

    /// <summary>The i-th entry as a sealed index knows it.</summary>
    public SealedEntry EntryAt(int index)
    {
        IndexEntry entry = this[index];
        return new SealedEntry(
            FirstOffsetOf(index),
            FirstOffset + entry.EndOffsetDelta,
            Segment.BasePosition + entry.Position,
            (int)entry.Size,
            FirstTimeMs + entry.TimeDeltaMs,
            entry.TagBits)
        {
            FileOffset = MessageStore.Segment.HeaderSize + entry.Position,
        };
    }

    /// <summary>Adds the next entry; under the log's lock (or by recovery).</summary>
    /// <param name="position">Of the entry in the log.</param>
    /// <param name="size">Of the whole entry in bytes.</param>
    /// <param name="endOffset">After its last record; one that the run <see cref="Takes"/>.</param>
    /// <param name="storedTimeMs">The same.</param>
    /// <param name="tagBits">As the entry carries them.</param>
    public void Add(long position, int size, long endOffset, long storedTimeMs, uint tagBits)
    {
        int index = _count;
        long timeDelta = Math.Clamp(storedTimeMs - FirstTimeMs, 0, uint.MaxValue);
        Slot(index) = new IndexEntry(
            (uint)(position - Segment.BasePosition),
            (uint)size,
            (uint)(endOffset - FirstOffset),
            (uint)timeDelta,
            tagBits);
        Bytes += size;
        Volatile.Write(ref _count, index + 1);
    }

    /// <summary>How many of the first <paramref name="count"/> entries begin before
    /// <paramref name="position"/>.</summary>
    public int CountBefore(long position, int count)
    {
        // Readers of the tail ask for the newest entries: look there first.
        if (count == 0 || PositionOf(count - 1) < position)
            return count;
        int low = 0, high = count - 1;
        while (low < high)
        {
            int middle = (low + high) >>> 1;
            if (PositionOf(middle) < position)
            {
                low = middle + 1;
            }
            else
            {
                high = middle;
            }
        }
        return low;
    }

    /// <summary>The entry among the first <paramref name="count"/> that holds <paramref name="offset"/>; count when
    /// none does.</summary>
    public int IndexOf(long offset, int count)
    {
        int low = 0, high = count;
        while (low < high)
        {
            int middle = (low + high) >>> 1;
            if (EndOffsetOf(middle) <= offset)
            {
                low = middle + 1;
            }
            else
            {
                high = middle;
            }
        }
        return low;
    }

    /// <summary>Whether an entry of that time and end can follow: differences to the first ones are unsigned and end
    /// after 49 days and 2^32 records.</summary>
    public bool Takes(long storedTimeMs, long endOffset) =>
        (ulong)(storedTimeMs - FirstTimeMs) <= uint.MaxValue && (ulong)(endOffset - FirstOffset) <= uint.MaxValue;

    /// <summary>The first entry among the first <paramref name="count"/> stored at or after a time; count when none
    /// is.</summary>
    public int IndexOfTime(long storedTimeMs, int count, TimeResets resets)
    {
        int low = 0, high = count;
        while (low < high)
        {
            int middle = (low + high) >>> 1;
            if (resets.Correct(PositionOf(middle), TimeOf(middle)) < storedTimeMs)
            {
                low = middle + 1;
            }
            else
            {
                high = middle;
            }
        }
        return low;
    }

    private ref IndexEntry Slot(int index)
    {
        (int block, int slot) = index switch
        {
            < FirstBlock => (0, index),
            < FirstBlock + SecondBlock => (1, index - FirstBlock),
            _ => (2 + ((index - FirstBlock - SecondBlock) / Block), (index - FirstBlock - SecondBlock) % Block),
        };
        if (block >= _blocks.Length || _blocks[block] is null)
            Grow(block);
        return ref _blocks[block][slot];
    }

    private void Grow(int block)
    {
        IndexEntry[][] blocks = _blocks;
        if (block >= blocks.Length)
            Array.Resize(ref blocks, Math.Max(4, blocks.Length * 2));
        blocks[block] = new IndexEntry[block == 1 ? SecondBlock : Block];
        Volatile.Write(ref _blocks, blocks);
    }
}
