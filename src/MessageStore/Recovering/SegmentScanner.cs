using System.Buffers.Binary;

using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>Walks over the entries of one segment file and checks every byte of them.</summary>
/// <remarks>
/// One thread; owns the file. Memory: a buffer of 256 KiB that grows to the largest entry whose header's checksum is
/// right and which lies inside the file. A segment may grow while it is scanned. In a packed segment a place is not
/// what its entry calls its position: places still count from the base as if it were, epochs are not compared.
/// </remarks>
internal sealed class SegmentScanner : IDisposable
{
    private const int BufferSize = 256 * 1024;
    private const int PositionField = 8;

    private readonly IDiskFile _file;
    private readonly string _path;
    private readonly uint _logSeed;
    private readonly long _packedTo;
    private long _place;
    private byte[] _buffer = new byte[BufferSize];
    private long _bufferPosition;
    private int _buffered;

    /// <summary>Begins at the segment's first entry.</summary>
    /// <param name="file">Open for reading.</param>
    /// <param name="path">For messages.</param>
    /// <param name="basePosition">Of the segment.</param>
    /// <param name="logSeed">From <see cref="EntryHeader.SeedOf"/>.</param>
    /// <param name="packedTo">Of a packed segment: all positions in it are below; 0 for others.</param>
    public SegmentScanner(
        IDiskFile file, string path, LogPosition basePosition, uint logSeed, LogPosition packedTo = default)
    {
        _packedTo = packedTo.Value;
        _file = file;
        _path = path;
        _logSeed = logSeed;
        BasePosition = basePosition;
        Position = _bufferPosition = basePosition.Value;
        EndOfFile = basePosition.Value + Math.Max(0, file.Length - SegmentHeader.Length);
    }

    /// <summary>The segment's first position.</summary>
    public LogPosition BasePosition { get; }

    /// <summary>What <see cref="Next"/> looks at next.</summary>
    public long Position { get; private set; }

    /// <summary>The position at which the file's bytes end.</summary>
    public long EndOfFile { get; }

    /// <summary>Entries with a lower epoch are stale; rises with every entry.</summary>
    public int Epoch { get; set; }

    /// <summary>The header of the last entry.</summary>
    public EntryHeader Header { get; private set; }

    /// <summary>Where the last entry stands in the file.</summary>
    public long FileOffset => FileOffsetOf(_place);

    /// <summary>The batch of the last entry, valid until the next call; empty without one.</summary>
    public ReadOnlySpan<byte> Batch
    {
        get
        {
            int start = (int)(_place - _bufferPosition) + Header.HeaderLength;
            return _buffer.AsSpan(start, Header.BatchSize);
        }
    }

    /// <summary>Continues at another position.</summary>
    public void MoveTo(long position) => Position = position;

    /// <summary>Reads from the file again what was read before: another thread may have written in between.</summary>
    public void Refresh() => _buffered = 0;

    /// <summary>Looks at <see cref="Position"/> and moves behind the entry when there is one.</summary>
    /// <exception cref="StoreFormatException">An intact entry asks for an understanding that this version does not
    /// have.</exception>
    public ScanVerdict Next()
    {
        ScanVerdict verdict = Look(Position, out EntryHeader header);
        if (verdict != ScanVerdict.Entry)
            return verdict;

        Header = header;
        _place = Position;
        Epoch = IsPacked ? 0 : header.Epoch;
        Position += header.Size;
        return ScanVerdict.Entry;
    }

    /// <summary>Takes one step: over the entry at <see cref="Position"/>, or over bytes that are none.</summary>
    /// <param name="end">Nothing at or after it is looked at; at most <see cref="EndOfFile"/>.</param>
    /// <param name="bad">What is no entry: where it begins and its bytes; 0 bytes for an entry.</param>
    /// <returns>False at the end.</returns>
    /// <exception cref="StoreFormatException">As for <see cref="Next"/>.</exception>
    public bool TryStep(long end, out (long Position, long Size) bad)
    {
        bad = (Position, 0);
        if (Position >= end)
            return false;
        ScanVerdict verdict = Next();
        if (verdict == ScanVerdict.Entry)
            return true;

        bool goesOn = verdict != ScanVerdict.End && TryFindNext(bad.Position + 1);
        Position = goesOn ? Math.Min(Position, end) : end;
        bad.Size = Position - bad.Position;
        return true;
    }

    /// <summary>Moves to the next whole, not stale entry at or after a position; false when the file holds
    /// none.</summary>
    public bool TryFindNext(long from)
    {
        for (long position = from; position <= EndOfFile - EntryHeader.Length;)
        {
            if (!Load(position, EntryHeader.Length))
                return false;

            // An entry names its own position, so most places are ruled out by one comparison.
            ReadOnlySpan<byte> bytes = _buffer.AsSpan((int)(position - _bufferPosition), Buffered(position));
            int places = bytes.Length - EntryHeader.Length + 1;
            int place = IsPacked ? 0 : FindOwnPosition(bytes, places, position);
            position += place;
            if (place == places)
                continue;
            if (Look(position, out _) == ScanVerdict.Entry)
            {
                Position = position;
                return true;
            }

            position++;
        }

        return false;
    }

    /// <inheritdoc/>
    public void Dispose() => _file.Dispose();

    private static int FindOwnPosition(ReadOnlySpan<byte> bytes, int places, long position)
    {
        for (int place = 0; place < places; place++)
        {
            if (BinaryPrimitives.ReadInt64LittleEndian(bytes[(place + PositionField)..]) != position + place)
                continue;
            return place;
        }

        return places;
    }

    private bool IsPacked => _packedTo > 0;

    private bool IsOwnPosition(long named, long place) =>
        IsPacked ? named >= BasePosition.Value && named < _packedTo : named == place;

    private ScanVerdict Look(long position, out EntryHeader header)
    {
        header = default;
        if (!Load(position, EntryHeader.Length))
            return IsZeroToEnd(position) ? ScanVerdict.End : ScanVerdict.Bad;

        ReadOnlySpan<byte> bytes = BufferAt(position);
        header = EntryHeader.Read(bytes);
        if (!bytes[..EntryHeader.Length].ContainsAnyExcept((byte)0))
            return IsZeroToEnd(position) ? ScanVerdict.End : ScanVerdict.Bad;
        if (!IsOwnPosition(header.Position.Value, position) || header.HeaderLength < EntryHeader.Length
            || header.Size < header.HeaderLength || header.Size > EndOfFile - position || header.Epoch < 0)
        {
            return ScanVerdict.Bad;
        }

        int coveredSize = header.HeaderLength + Math.Min(EntryHeader.CoveredBatchSize, header.BatchSize);
        if (!Load(position, coveredSize))
            return ScanVerdict.Bad;
        bytes = BufferAt(position);
        uint crc = EntryHeader.ComputeCrc(
            _logSeed, bytes[..header.HeaderLength], bytes[header.HeaderLength..coveredSize]);
        if (crc != header.Crc)
            return ScanVerdict.Bad;
        if (header.MustBeRefused)
            throw new StoreFormatException(_path, RefusalOf(header));
        if (!HasRightSize(header, bytes) || (header.HasBatch && !HasRightBatch(position, header)))
            return ScanVerdict.Bad;
        return header.Epoch < Epoch ? ScanVerdict.Stale : ScanVerdict.Entry;
    }

    /// <summary>Whether an entry has the size that its batch says: the size itself is outside the checksum, the
    /// batch's length inside.</summary>
    internal static bool HasRightSize(in EntryHeader header, ReadOnlySpan<byte> bytes)
    {
        if (!header.HasBatch)
            return header.Kind != EntryKind.None && header.BatchSize == 0;
        if (header.BatchSize < RecordBatchLayout.HeaderSize)
            return false;
        int length = BinaryPrimitives.ReadInt32BigEndian(bytes[(header.HeaderLength + RecordBatchLayout.Length)..]);
        return length == header.BatchSize - RecordBatchLayout.LengthPrefix;
    }

    private bool HasRightBatch(long position, in EntryHeader header)
    {
        if (!Load(position, header.Size))
            return false;
        ReadOnlySpan<byte> batch = BufferAt(position)[header.HeaderLength..header.Size];
        return RecordBatch.TryReadHeader(batch, out _, out _) && RecordBatch.HasValidCrc(batch);
    }

    private static string RefusalOf(in EntryHeader header) =>
        $"the entry at position {header.Position} has kind {(int)header.Kind} and flags 0x{(int)header.Flags:X4}, "
        + "which this version must not touch; it was written by a later version.";

    private ReadOnlySpan<byte> BufferAt(long position) =>
        _buffer.AsSpan((int)(position - _bufferPosition), Buffered(position));

    private int Buffered(long position) => _buffered - (int)(position - _bufferPosition);

    /// <summary>Half a gigabyte that was reserved and never written takes a second to read: it is not.</summary>
    private bool IsZeroToEnd(long position)
    {
        long end = FileOffsetOf(EndOfFile);
        var ranges = new List<(long Begin, long End)>();
        for (long at = FileOffsetOf(position); at < end;)
        {
            (long Begin, long End) range = _file.FindData(at);
            if (range.End <= at)
                break; // the file has got shorter
            ranges.Add(range);
            at = range.End;
        }

        byte[] bytes = new byte[64 * 1024];
        foreach ((long begin, long rangeEnd) in ranges)
        {
            int size;
            for (long at = begin; at < Math.Min(rangeEnd, end); at += size)
            {
                size = _file.Read(bytes.AsSpan(0, (int)Math.Min(bytes.Length, Math.Min(rangeEnd, end) - at)), at);
                if (size <= 0)
                    return true;
                if (bytes.AsSpan(0, size).ContainsAnyExcept((byte)0))
                    return false;
            }
        }

        return true;
    }

    /// <summary>Makes sure that the buffer holds a range; false when the file ends before its end.</summary>
    private bool Load(long position, int size)
    {
        if (position >= _bufferPosition && position + size <= _bufferPosition + _buffered)
            return true;
        if (position < BasePosition.Value || size > EndOfFile - position)
            return false;

        if (size > _buffer.Length)
            _buffer = new byte[(int)Math.Min(Math.Max(size, _buffer.Length * 2L), Array.MaxLength)];
        int wanted = (int)Math.Min(_buffer.Length, EndOfFile - position);
        _bufferPosition = position;
        _buffered = _file.Read(_buffer.AsSpan(0, wanted), FileOffsetOf(position));
        return _buffered >= size;
    }

    private long FileOffsetOf(long position) => SegmentHeader.Length + position - BasePosition.Value;
}
