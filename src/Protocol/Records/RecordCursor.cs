using System.Runtime.InteropServices;
using static System.Buffers.Binary.BinaryPrimitives;
using At = EQueue.Protocol.RecordBatchLayout;

namespace EQueue.Protocol;

/// <summary>A place in the records of a batch that can be stored: the bytes are handed in at each step.</summary>
/// <remarks>
/// Every length is checked before it is used: bytes of any content give records or an error, never an exception.
/// Offset deltas
/// must rise and stay within the header's last offset delta; gaps are allowed. The record's attribute byte is ignored.
/// </remarks>
[StructLayout(LayoutKind.Auto)]
public struct RecordCursor
{
    /// <summary>Bytes that must follow for the short form to be tried: its 8-byte and 2-byte loads.</summary>
    private const int ShortRoom = 16;

    private readonly int _end;
    private readonly int _lastOffsetDelta;
    private int _position;
    private int _remaining;
    private int _nextDelta;

    /// <summary>Begins at the first record. Does not check the CRC; a bad header shows as <see
    /// cref="Error"/>.</summary>
    /// <param name="batch">The batch, uncompressed; bytes behind it are ignored.</param>
    public RecordCursor(ReadOnlySpan<byte> batch)
    {
        if (!RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out ErrorCode error))
        {
            Error = error;
            return;
        }

        if (header.Codec != RecordCodec.None)
        {
            Error = ErrorCode.UnsupportedCodec;
            return;
        }

        _end = header.TotalSize;
        _lastOffsetDelta = header.LastOffsetDelta;
        _position = At.HeaderSize;
        _remaining = header.RecordsCount;
        if (_remaining == 0 && _position != _end)
            Error = ErrorCode.InvalidBatch;
    }

    /// <summary>Why reading ended: None at the end, InvalidBatch, or UnsupportedCodec for a compressed batch.</summary>
    public ErrorCode Error { get; private set; }

    /// <summary>Finds the next record; false at the end and at an error.</summary>
    /// <param name="batch">The same bytes at every call.</param>
    /// <param name="record">Where the record's parts stand.</param>
    public bool TryRead(ReadOnlySpan<byte> batch, out RecordRange record)
    {
        if (_remaining == 0 || Error != ErrorCode.None)
        {
            record = default;
            return false;
        }

        if (TryReadShort(batch, out record))
            return true;
        if (TryReadAny(batch[.._end], out record))
            return true;
        Error = ErrorCode.InvalidBatch;
        record = default;
        return false;
    }

    /// <summary>The form that the builder writes for a body alone, recognised by one masked compare.</summary>
    private bool TryReadShort(ReadOnlySpan<byte> batch, out RecordRange record)
    {
        record = default;
        if (_end - _position < ShortRoom)
            return false;

        // Behind the length: attributes 0, a one-byte timestamp delta, the offset delta expected next, key length -1.
        uint rawDelta = (uint)_nextDelta << 1;
        (ulong middle, ulong mask, int middleSize) = rawDelta < 0x80
            ? ((rawDelta << 16) | (1UL << 24), 0xFFFF_80FFUL, 4)
            : (((ulong)VarInt.TwoBytes(rawDelta) << 16) | (1UL << 32), 0xFF_FFFF_80FFUL, 5);

        ulong word = ReadUInt64LittleEndian(batch[_position..]);
        int lengthSize = (word & 0x80) == 0 ? 1 : 2;
        ulong behindLength = word >> (8 * lengthSize);
        if (((behindLength ^ middle) & mask) != 0 || rawDelta >= 0x4000)
            return false;

        int bodyLengthAt = _position + lengthSize + middleSize;
        int rawSize;
        int rawBody;
        if (lengthSize == 1)
        {
            rawSize = (int)(word & 0xFF);
            rawBody = batch[bodyLengthAt];
        }
        else
        {
            uint bodyLength = ReadUInt16LittleEndian(batch[bodyLengthAt..]);
            if ((word & 0x8000) != 0 || (bodyLength & 0x8080) != 0x80)
                return false;
            rawSize = (int)VarInt.FromTwoBytes((uint)word & 0x7FFF);
            rawBody = (int)VarInt.FromTwoBytes(bodyLength);
        }

        int size = rawSize >> 1;
        int bodySize = rawBody >> 1;
        int recordEnd = _position + lengthSize + size;
        if (((rawSize | rawBody) & 1) != 0 || size != middleSize + lengthSize + bodySize + 1 || recordEnd > _end
            || batch[recordEnd - 1] != 0)
            return false;

        int rawTimestamp = (int)(behindLength >> 8) & 0x7F;
        record = new RecordRange
        {
            OffsetDelta = _nextDelta,
            TimestampDelta = (rawTimestamp >> 1) ^ -(rawTimestamp & 1),
            KeyLength = -1,
            BodyStart = bodyLengthAt + lengthSize,
            BodyLength = bodySize,
            TagLength = -1,
        };
        return TryAdvance(recordEnd, _nextDelta);
    }

    /// <summary>Any record; the bytes end with the batch.</summary>
    private bool TryReadAny(ReadOnlySpan<byte> batch, out RecordRange record)
    {
        record = default;
        int at = _position;
        if (!VarInt.TryRead(batch, ref at, out int size) || size < At.MinRecordSize - 1 || size > batch.Length - at)
            return false;

        ReadOnlySpan<byte> bytes = batch[..(at + size)];
        at++;
        if (!VarInt.TryRead(bytes, ref at, out long timestampDelta)
            || !VarInt.TryRead(bytes, ref at, out int offsetDelta)
            || !TrySkip(bytes, ref at, out int keyStart, out int keyLength)
            || !TrySkip(bytes, ref at, out int bodyStart, out int bodyLength)
            || !VarInt.TryRead(bytes, ref at, out int headersCount) || headersCount < 0)
            return false;

        int headersStart = at;
        int tagStart = 0;
        int tagLength = -1;
        for (int i = 0; i < headersCount; i++)
        {
            if (!TrySkip(bytes, ref at, out int nameStart, out int nameLength) || nameLength < 0
                || !TrySkip(bytes, ref at, out int valueStart, out int valueLength))
                return false;
            if (tagLength < 0 && bytes.Slice(nameStart, nameLength).SequenceEqual(RecordContent.TagHeaderNameUtf8))
                (tagStart, tagLength) = (valueStart, valueLength);
        }

        record = new RecordRange
        {
            OffsetDelta = offsetDelta,
            TimestampDelta = timestampDelta,
            KeyStart = keyStart,
            KeyLength = keyLength,
            BodyStart = bodyStart,
            BodyLength = bodyLength,
            TagStart = tagStart,
            TagLength = tagLength,
            HeadersStart = headersStart,
            HeadersCount = headersCount,
        };
        return at == bytes.Length && TryAdvance(at, offsetDelta);
    }

    /// <summary>Reads a counted stretch: -1 for null, never longer than what is there.</summary>
    private static bool TrySkip(ReadOnlySpan<byte> bytes, ref int at, out int start, out int length)
    {
        bool read = VarInt.TryRead(bytes, ref at, out length) && length >= -1 && length <= bytes.Length - at;
        start = at;
        if (read && length > 0)
            at += length;
        return read;
    }

    private bool TryAdvance(int recordEnd, int offsetDelta)
    {
        bool isLast = _remaining == 1;
        if (offsetDelta < _nextDelta || offsetDelta > _lastOffsetDelta || isLast != (recordEnd == _end)
            || (!isLast && offsetDelta == _lastOffsetDelta))
            return false;
        _position = recordEnd;
        _nextDelta = offsetDelta + 1;
        _remaining--;
        return true;
    }
}
