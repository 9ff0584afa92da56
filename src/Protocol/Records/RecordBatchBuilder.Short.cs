using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace EQueue.Protocol;

/// <content>
/// The form of nearly all records: lengths of one or two bytes, a one-byte timestamp delta, no header or the tag alone.
/// What stands between the lengths is laid out before the record comes and written as one word.
/// </content>
/// <remarks>
/// Writes by reference, after one check of the room: spans and their bounds checks were measured at 12 to 20 % more
/// time (perf/Micro, RecordEncode). Gives the same bytes as the general form; tests hold the two together.
/// </remarks>
public sealed partial class RecordBatchBuilder
{
    /// <summary>With key and tag at most <see cref="MaxShortPart"/> each, a record of this body stays below 8,192
    /// bytes, the most that two bytes can say.</summary>
    private const int MaxShortBody = 8_000;

    private const int MaxShortPart = 63;
    private const int MaxShortDelta = 8_191;

    /// <summary>Bytes beside key, body and tag that must be free: all lengths and the overhang of 8-byte
    /// writes.</summary>
    private const int ShortRoom = 32;

    /// <summary>Attributes (0), room for the timestamp delta, the offset delta; then key length -1.</summary>
    private uint _delta;
    private ulong _deltaAndNullKey;

    /// <summary>Bytes of attributes and deltas: 3 or 4; 0 when the offset delta has no short form.</summary>
    private int _deltaSize;

    private bool TryAppendShort(ReadOnlySpan<byte> body, long timestampMs)
    {
        ulong timestampDelta = VarInt.ZigZag(timestampMs - _baseTimestamp);
        int deltaSize = _deltaSize;
        if (timestampDelta > 0x7F || deltaSize == 0 || body.Length > MaxShortBody
            || _end - _position < body.Length + ShortRoom || !BitConverter.IsLittleEndian)
        {
            return false;
        }

        ref byte target = ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(_array), _position);
        ulong middle = _deltaAndNullKey | (timestampDelta << 8);
        int size = deltaSize + body.Length + 3;
        int at;
        if (body.Length > MaxShortPart)
        {
            size++;
            Write(ref target, 0, VarInt.TwoBytes((uint)size << 1) | (middle << 16));
            Write(ref target, deltaSize + 3, (ushort)VarInt.TwoBytes((uint)body.Length << 1));
            at = deltaSize + 5;
        }
        else
        {
            if (size > MaxShortPart)
                return false;
            Write(ref target, 0, ((uint)size << 1) | (middle << 8));
            Write(ref target, deltaSize + 2, (byte)(body.Length << 1));
            at = deltaSize + 3;
        }

        body.CopyTo(MemoryMarshal.CreateSpan(ref Unsafe.Add(ref target, at), body.Length));
        Write(ref target, at + body.Length, (byte)0);
        Advance(at + body.Length + 1, Protocol.TagBits.Untagged, timestampMs);
        return true;
    }

    private bool TryAppendShort(in RecordContent record, long timestampMs)
    {
        ulong timestampDelta = VarInt.ZigZag(timestampMs - _baseTimestamp);
        ReadOnlySpan<byte> key = record.Key.Value;
        ReadOnlySpan<byte> body = record.Body.Value;
        ReadOnlySpan<byte> tag = record.Tag.Value;
        if (timestampDelta > 0x7F || _deltaSize == 0 || record.Properties is not null || !record.Body.HasValue
            || body.Length > MaxShortBody || key.Length > MaxShortPart || tag.Length > MaxShortPart
            || _end - _position < key.Length + body.Length + tag.Length + ShortRoom || !BitConverter.IsLittleEndian)
        {
            return false;
        }

        ref byte start = ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(_array), _position);
        int size = _deltaSize + key.Length + body.Length + tag.Length + (body.Length > MaxShortPart ? 4 : 3)
            + (record.Tag.HasValue ? sizeof(ulong) : 0);
        int at = WriteLength(ref start, 0, size);
        Write(ref start, at, _delta | ((uint)timestampDelta << 8));
        at += _deltaSize;
        Write(ref start, at++, record.Key.HasValue ? (byte)(key.Length << 1) : (byte)1);
        key.CopyTo(MemoryMarshal.CreateSpan(ref Unsafe.Add(ref start, at), key.Length));
        at = WriteLength(ref start, at + key.Length, body.Length);
        body.CopyTo(MemoryMarshal.CreateSpan(ref Unsafe.Add(ref start, at), body.Length));
        at += body.Length;
        uint tagBits = Protocol.TagBits.Untagged;
        if (record.Tag.HasValue)
        {
            Write(ref start, at, RecordContent.LoneTagPrefix);
            at += sizeof(ulong);
            Write(ref start, at++, (byte)(tag.Length << 1));
            tag.CopyTo(MemoryMarshal.CreateSpan(ref Unsafe.Add(ref start, at), tag.Length));
            at += tag.Length;
            tagBits = Protocol.TagBits.Of(tag);
        }
        else
        {
            Write(ref start, at++, (byte)0);
        }

        Advance(at, tagBits, timestampMs);
        return true;
    }

    /// <summary>Writes a length below 8,192 in one or two bytes; the second byte is written in any case.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int WriteLength(ref byte target, int at, int length)
    {
        uint raw = (uint)length << 1;
        bool isLong = length > MaxShortPart;
        Write(ref target, at, (ushort)(isLong ? VarInt.TwoBytes(raw) : raw));
        return at + (isLong ? 2 : 1);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void Write<T>(ref byte target, int at, T value)
        where T : unmanaged => Unsafe.WriteUnaligned(ref Unsafe.Add(ref target, at), value);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Advance(int size, uint tagBits, long timestampMs)
    {
        _position += size;
        RecordCount++;
        TagBits |= tagBits;
        if (timestampMs > _maxTimestamp)
            _maxTimestamp = timestampMs;
        PrepareDelta();
    }

    private void PrepareDelta()
    {
        uint raw = (uint)RecordCount << 1;
        if (raw < 0x80)
        {
            _deltaSize = 3;
            _delta = raw << 16;
            _deltaAndNullKey = _delta | (1UL << 24);
        }
        else
        {
            _deltaSize = RecordCount <= MaxShortDelta ? 4 : 0;
            _delta = VarInt.TwoBytes(raw) << 16;
            _deltaAndNullKey = _delta | (1UL << 32);
        }
    }
}
