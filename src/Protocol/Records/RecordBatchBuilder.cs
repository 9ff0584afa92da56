using System.Diagnostics;
using System.Runtime.InteropServices;
using static System.Buffers.Binary.BinaryPrimitives;
using At = EQueue.Protocol.RecordBatchLayout;

namespace EQueue.Protocol;

/// <summary>Encodes messages into one batch, each once and straight into the caller's buffer. Reusable.</summary>
/// <remarks>
/// Not thread-safe; allocates nothing. The buffer is lent from <see cref="Reset"/> until the caller has taken the
/// bytes that
/// <see cref="Complete"/> counted. Record layout, all numbers zigzag varints: length, attributes (one byte, 0),
/// timestamp delta,
/// offset delta, key length (-1: null), key, body length (-1: null), body, headers count, headers (name length, name,
/// value
/// length (-1: null), value).
/// </remarks>
public sealed class RecordBatchBuilder
{
    /// <summary>Records of at most this body size have lengths of one or two bytes.</summary>
    private const int MaxShortBody = 8192 - 16;

    private const int MaxShortDelta = 8192;

    /// <summary>Bytes beside the body that must be free: the longest short form and the overhang of its 8-byte
    /// write.</summary>
    private const int ShortRoom = 16;

    private byte[] _array = [];
    private int _start;
    private int _position;
    private int _end;
    private long _baseTimestamp;
    private long _maxTimestamp;
    private ulong _middle;
    private int _middleSize;

    /// <summary>Records in the batch; also the offset delta of the next one.</summary>
    public int RecordCount { get; private set; }

    /// <summary>Bytes of the batch so far, header included.</summary>
    public int Size => _position - _start;

    /// <summary>The tags of all records so far; see <see cref="Protocol.TagBits"/>. 0 while empty.</summary>
    public uint TagBits { get; private set; }

    /// <summary>Starts a batch and drops what was there.</summary>
    /// <param name="buffer">Room for the whole batch, at least a header; must be backed by an array.</param>
    /// <param name="baseTimestampMs">Create time that deltas count from; ms since 1970-01-01 UTC.</param>
    public void Reset(Memory<byte> buffer, long baseTimestampMs)
    {
        if (buffer.Length < At.HeaderSize)
            throw new ArgumentException($"A batch needs {At.HeaderSize} bytes or more, got {buffer.Length}.", nameof(buffer));
        if (!MemoryMarshal.TryGetArray(buffer, out ArraySegment<byte> segment))
            throw new ArgumentException("The buffer is not backed by an array.", nameof(buffer));

        _array = segment.Array!;
        _start = segment.Offset;
        _position = _start + At.HeaderSize;
        _end = _start + segment.Count;
        _baseTimestamp = baseTimestampMs;
        _maxTimestamp = long.MinValue;
        RecordCount = 0;
        TagBits = 0;
        PrepareMiddle();
    }

    /// <summary>The exact bytes of a record at a place in a batch.</summary>
    public static long SizeOf(in RecordContent record, int offsetDelta, long timestampDeltaMs)
    {
        long size = SizeBehindLength(record, offsetDelta, timestampDeltaMs);
        return VarInt.SizeOf(size) + size;
    }

    /// <summary>Appends a message that has a body and nothing else.</summary>
    /// <returns>False, with nothing changed, if the room left is too small.</returns>
    public bool TryAppend(ReadOnlySpan<byte> body, long timestampMs)
    {
        ulong timestampDelta = VarInt.ZigZag(timestampMs - _baseTimestamp);
        int bodySize = body.Length;
        int middleSize = _middleSize;
        int size = middleSize + bodySize + (bodySize < 64 ? 2 : 3);
        bool hasTwoByteLengths = bodySize >= 64;
        if (timestampDelta > 0x7F || middleSize == 0 || bodySize > MaxShortBody || _end - _position < bodySize + ShortRoom
            || (!hasTwoByteLengths && size >= 64))
            return TryAppend(new RecordContent { Body = body }, timestampMs);

        Span<byte> target = _array.AsSpan(_position, bodySize + ShortRoom);
        ulong middle = _middle | (timestampDelta << 8);
        int at;
        if (hasTwoByteLengths)
        {
            WriteUInt64LittleEndian(target, VarInt.TwoBytes((uint)size << 1) | (middle << 16));
            WriteUInt16LittleEndian(target[(middleSize + 2)..], (ushort)VarInt.TwoBytes((uint)bodySize << 1));
            at = middleSize + 4;
        }
        else
        {
            ulong bodyLength = (ulong)((uint)bodySize << 1) << (8 * (middleSize + 1));
            WriteUInt64LittleEndian(target, ((uint)size << 1) | (middle << 8) | bodyLength);
            at = middleSize + 2;
        }

        body.CopyTo(target[at..]);
        target[at + bodySize] = 0;
        Advance(at + bodySize + 1, Protocol.TagBits.Untagged, timestampMs);
        return true;
    }

    /// <summary>Appends a message.</summary>
    /// <returns>False, with nothing changed, if the room left is too small.</returns>
    public bool TryAppend(in RecordContent record, long timestampMs)
    {
        long timestampDelta = timestampMs - _baseTimestamp;
        long size = SizeBehindLength(record, RecordCount, timestampDelta);
        if (VarInt.SizeOf(size) + size > _end - _position)
            return false;

        Span<byte> target = _array.AsSpan(_position, (int)(VarInt.SizeOf(size) + size));
        int at = VarInt.Write(target, 0, size);
        target[at++] = 0;
        at = VarInt.Write(target, at, timestampDelta);
        at = VarInt.Write(target, at, RecordCount);
        at = WriteBytes(target, at, record.Key);
        at = WriteBytes(target, at, record.Body);
        at = VarInt.Write(target, at, record.HeadersCount);
        if (record.Tag.HasValue)
        {
            at = WriteBytes(target, at, RecordContent.TagHeaderNameUtf8);
            at = WriteBytes(target, at, record.Tag);
        }

        if (record.Properties is { } properties)
        {
            properties.Encoded.CopyTo(target[at..]);
            at += properties.Encoded.Length;
        }

        Debug.Assert(at == target.Length, "The size counted is the size written.");
        Advance(at, record.TagBits, timestampMs);
        return true;
    }

    /// <summary>Writes the header in front of the records and ends the batch.</summary>
    /// <param name="producer">Who sends.</param>
    /// <param name="baseSequence">Sequence of the first record; -1 with <see cref="ProducerSession.None"/>.</param>
    /// <returns>Bytes of the batch, from the start of the buffer.</returns>
    /// <exception cref="InvalidOperationException">No record was appended.</exception>
    public int Complete(ProducerSession producer, int baseSequence)
    {
        if (RecordCount == 0)
            throw new InvalidOperationException("A batch needs at least one record.");

        Span<byte> batch = _array.AsSpan(_start, Size);
        WriteInt64BigEndian(batch, 0);
        WriteInt32BigEndian(batch[At.Length..], batch.Length - At.LengthPrefix);
        WriteInt32BigEndian(batch[At.LeaderEpoch..], -1);
        batch[At.Magic] = At.CurrentMagic;
        WriteInt16BigEndian(batch[At.Attributes..], 0);
        WriteInt32BigEndian(batch[At.LastOffsetDelta..], RecordCount - 1);
        WriteInt64BigEndian(batch[At.BaseTimestamp..], _baseTimestamp);
        WriteInt64BigEndian(batch[At.MaxTimestamp..], _maxTimestamp);
        WriteInt32BigEndian(batch[At.RecordsCount..], RecordCount);
        RecordBatch.SetProducer(batch, producer, baseSequence);
        return batch.Length;
    }

    private static long SizeBehindLength(in RecordContent record, int offsetDelta, long timestampDelta) =>
        1L + VarInt.SizeOf(timestampDelta) + VarInt.SizeOf(offsetDelta)
        + SizeOfBytes(record.Key) + SizeOfBytes(record.Body)
        + VarInt.SizeOf(record.HeadersCount) + record.HeadersSize;

    private static long SizeOfBytes(OptionalBytes bytes) =>
        (long)VarInt.SizeOf(bytes.CountedLength) + bytes.Value.Length;

    private static int WriteBytes(Span<byte> target, int at, OptionalBytes bytes)
    {
        at = VarInt.Write(target, at, bytes.CountedLength);
        bytes.Value.CopyTo(target[at..]);
        return at + bytes.Value.Length;
    }

    private void Advance(int size, uint tagBits, long timestampMs)
    {
        _position += size;
        RecordCount++;
        TagBits |= tagBits;
        if (timestampMs > _maxTimestamp)
            _maxTimestamp = timestampMs;
        PrepareMiddle();
    }

    /// <summary>Lays out the bytes between a record's length and its body length, ready for the next record without a
    /// key:
    /// attributes 0, room for a one-byte timestamp delta, the offset delta, key length -1. Size 0: no short
    /// form.</summary>
    private void PrepareMiddle()
    {
        uint raw = (uint)RecordCount << 1;
        if (raw < 0x80)
        {
            _middle = (raw << 16) | (1UL << 24);
            _middleSize = 4;
        }
        else
        {
            _middle = ((ulong)VarInt.TwoBytes(raw) << 16) | (1UL << 32);
            _middleSize = RecordCount < MaxShortDelta ? 5 : 0;
        }
    }
}
