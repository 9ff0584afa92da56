using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using static System.Buffers.Binary.BinaryPrimitives;
using At = EQueue.Protocol.RecordBatchLayout;

namespace EQueue.Protocol;

/// <summary>Encodes messages into one batch, each once and straight into the caller's buffer. Reusable.</summary>
/// <remarks>
/// Not thread-safe; allocates nothing. The buffer is lent from <see cref="Reset"/> until the caller has taken the bytes
/// that <see cref="Complete"/> counted. Record layout, all numbers zigzag varints: length, attributes (one byte, 0),
/// timestamp delta, offset delta, key length (-1: null), key, body length (-1: null), body, headers count, headers
/// (name length, name, value length (-1: null), value).
/// </remarks>
public sealed partial class RecordBatchBuilder
{
    private byte[] _array = [];
    private int _start;
    private int _position;
    private int _end;
    private long _baseTimestamp;
    private long _maxTimestamp;

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
            throw new ArgumentException($"A batch needs {At.HeaderSize} bytes, got {buffer.Length}.", nameof(buffer));
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
        PrepareDelta();
    }

    /// <summary>The exact bytes of a record at a place in a batch.</summary>
    public static long SizeOf(in RecordContent record, int offsetDelta, long timestampDeltaMs)
    {
        long size = SizeBehindLength(record, offsetDelta, timestampDeltaMs);
        return VarInt.SizeOf(size) + size;
    }

    /// <summary>Appends a message that has a body and nothing else.</summary>
    /// <returns>False, with nothing changed, if the room left is too small.</returns>
    public bool TryAppend(ReadOnlySpan<byte> body, long timestampMs) =>
        TryAppendShort(body, timestampMs) || TryAppendAny(body, timestampMs);

    /// <summary>Appends a message.</summary>
    /// <returns>False, with nothing changed, if the room left is too small.</returns>
    public bool TryAppend(in RecordContent record, long timestampMs) =>
        TryAppendShort(record, timestampMs) || TryAppendAny(record, timestampMs);

    /// <summary>Appends by the general rules, in exactly the room that the record needs.</summary>
    internal bool TryAppendAny(in RecordContent record, long timestampMs)
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

    /// <summary>Out of the way of the short form, whose frame would have to be cleared for the content.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private bool TryAppendAny(ReadOnlySpan<byte> body, long timestampMs) =>
        TryAppendAny(new RecordContent { Body = body }, timestampMs);

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
}
