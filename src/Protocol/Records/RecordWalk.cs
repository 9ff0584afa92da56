using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using static System.Buffers.Binary.BinaryPrimitives;
using At = EQueue.Protocol.RecordBatchLayout;

namespace EQueue.Protocol;

/// <summary>Goes once over all records of an uncompressed batch: are they what its header says, and what is in
/// them?</summary>
/// <remarks>
/// <para>Stricter than a reader, which has to live with what is stored: offset deltas are 0, 1, 2, ..., times lie in
/// the years 1 to 9999, and the records end where the batch ends. What passes is read by every reader.</para>
/// <para>Allocates nothing. Reads by reference like <see cref="RecordCursor"/>, whose short form this is without the
/// parts' places; anything else goes through <see cref="RecordCursor.TryFind"/>. Measured: perf/Micro,
/// RecordCheck.</para>
/// </remarks>
internal ref struct RecordWalk
{
    /// <summary>Bytes that must follow for the short form to be tried: its 8-byte load.</summary>
    private const int ShortRoom = sizeof(ulong);

    /// <summary>The largest offset delta of two bytes.</summary>
    private const int MaxShortDelta = 8191;

    /// <summary>Bits that a length of one or two bytes does not have: the sign and "more bytes follow".</summary>
    private const uint NotShort = 0x4001;

    /// <summary>The most that a one-byte timestamp delta says, either way; ms.</summary>
    private const long MaxShortTime = 64;

    private readonly ReadOnlySpan<byte> _batch;
    private readonly bool _wantsTags;
    private readonly long _baseTimestamp;
    private int _tagStart;
    private int _tagLength;

    private RecordWalk(ReadOnlySpan<byte> batch, bool wantsTags)
    {
        _batch = batch;
        _wantsTags = wantsTags;
        _baseTimestamp = ReadInt64BigEndian(batch[At.BaseTimestamp..]);
        _tagLength = -1;
    }

    /// <summary>The longest body, in bytes.</summary>
    public int LargestBody { get; private set; }

    /// <summary>The tags of all records, if they were asked for.</summary>
    public uint TagBits { get; private set; }

    /// <summary>Goes over the records.</summary>
    /// <param name="batch">Exactly one batch, uncompressed, whose header is good.</param>
    /// <param name="recordsCount">Records that it must hold.</param>
    /// <param name="wantsTags">Whether <see cref="TagBits"/> are worked out.</param>
    /// <param name="walk">What was found.</param>
    /// <returns>Whether the records are as the header says.</returns>
    public static bool TryWalk(ReadOnlySpan<byte> batch, int recordsCount, bool wantsTags, out RecordWalk walk)
    {
        walk = new RecordWalk(batch, wantsTags);
        long maxTimestamp = ReadInt64BigEndian(batch[At.MaxTimestamp..]);
        if (!RecordTime.IsValid(walk._baseTimestamp) || !RecordTime.IsValid(maxTimestamp))
            return false;
        int at = walk.HasRoomForShortTimes && BitConverter.IsLittleEndian
            ? walk.WalkShort(recordsCount)
            : walk.WalkAny(At.HeaderSize, 0, recordsCount);
        return at == batch.Length;
    }

    private readonly bool HasRoomForShortTimes =>
        _baseTimestamp - MaxShortTime >= RecordTime.EarliestMs && _baseTimestamp + MaxShortTime <= RecordTime.LatestMs;

    /// <summary>Takes records of the short form, and any other one between them.</summary>
    /// <returns>The place behind the last record; -1 when one is wrong.</returns>
    private int WalkShort(int recordsCount)
    {
        ref byte origin = ref MemoryMarshal.GetReference(_batch);
        int end = _batch.Length;
        int at = At.HeaderSize;
        int largestBody = 0;
        int lastSize = 0;
        bool anyUntagged = false;
        int shortCount = Math.Min(recordsCount, MaxShortDelta + 1);
        for (int delta = 0; delta < shortCount; delta++)
        {
            int start = at;
            if (TryPass(ref origin, end, delta, ref at, out int bodyAt, out int bodyLength, out int rest))
            {
                if (rest == 1)
                {
                    anyUntagged = true;
                    largestBody = Math.Max(largestBody, bodyLength);
                    if (lastSize == at - start)
                        delta = PassAlike(ref origin, end, start, bodyAt, ref at, delta, shortCount);
                    lastSize = at - start;
                    continue;
                }

                if (TryTakeTag(ref origin, at - rest, rest))
                {
                    largestBody = Math.Max(largestBody, bodyLength);
                    continue;
                }
            }

            at = TakeAny(start, delta);
            if (at < 0)
                return -1;
        }

        LargestBody = Math.Max(LargestBody, largestBody);
        if (anyUntagged)
            TagBits |= Protocol.TagBits.Untagged;
        return WalkAny(at, shortCount, recordsCount);
    }

    /// <summary>Takes records of any form from the one with offset delta <paramref name="delta"/> on.</summary>
    /// <returns>The place behind the last record; -1 when one is wrong.</returns>
    private int WalkAny(int at, int delta, int recordsCount)
    {
        while (delta < recordsCount && at >= 0)
            at = TakeAny(at, delta++);
        return at;
    }

    /// <summary>Passes one record of the short form up to what follows its body.</summary>
    /// <param name="origin">The batch's first byte.</param>
    /// <param name="end">Its size.</param>
    /// <param name="delta">The offset delta expected.</param>
    /// <param name="at">Where the record begins; then the place behind it.</param>
    /// <param name="bodyAt">Where its body's length stands, from its first byte.</param>
    /// <param name="bodyLength">Bytes of the body.</param>
    /// <param name="rest">Bytes of the record behind its body; 1: it has no header.</param>
    /// <returns>Whether it has the form; no load was beyond <paramref name="end"/>.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool TryPass(
        ref byte origin, int end, int delta, ref int at, out int bodyAt, out int bodyLength, out int rest)
    {
        Unsafe.SkipInit(out bodyAt);
        Unsafe.SkipInit(out bodyLength);
        Unsafe.SkipInit(out rest);
        int place = at;
        if (end - place < ShortRoom)
            return false;
        ulong word = Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref origin, place));
        uint rawSize = (uint)word & 0x7F;
        place++;
        if ((word & 0x80) != 0)
        {
            rawSize = VarInt.FromTwoBytes((uint)word & 0xFFFF);
            word >>= 8;
            place++;
        }

        // Behind the length: attributes 0, a one-byte timestamp delta, the offset delta; all compared at once.
        int recordEnd = place + (int)(rawSize >> 1);
        uint rawDelta = (uint)delta << 1;
        bool isOneByte = rawDelta < 0x80;
        uint expected = (isOneByte ? rawDelta : VarInt.TwoBytes(rawDelta)) << 16;
        uint mask = isOneByte ? 0x00FF_80FFu : 0xFFFF_80FFu;
        if ((((uint)(word >> 8) ^ expected) & mask) != 0 || (rawSize & NotShort) != 0 || recordEnd > end)
            return false;

        place += isOneByte ? 3 : 4;
        int keyLength = VarInt.FromOneByte(Unsafe.Add(ref origin, place++));
        place += Math.Max(keyLength, 0);
        if (keyLength < -1 || recordEnd - place < 2)
            return false;

        bodyAt = place - at;
        uint rawBody = Unsafe.ReadUnaligned<ushort>(ref Unsafe.Add(ref origin, place++));
        if ((rawBody & 0x80) != 0)
        {
            rawBody = VarInt.FromTwoBytes(rawBody);
            place++;
        }
        else
        {
            rawBody &= 0x7F;
        }

        bodyLength = (int)(rawBody >> 1);
        rest = recordEnd - place - bodyLength;
        at = recordEnd;
        return (rawBody & NotShort) == 0 && (rest == 1 ? Unsafe.Add(ref origin, recordEnd - 1) == 0 : rest > 1);
    }

    /// <summary>Passes the records that follow one without headers and differ from it in nothing but time, number and
    /// content: what stands between is compared as words, and where the next one begins is known beforehand.</summary>
    /// <param name="origin">The batch's first byte.</param>
    /// <param name="end">Its size.</param>
    /// <param name="start">Where the record begins that was passed.</param>
    /// <param name="bodyAt">Where its body's length stands, from its first byte.</param>
    /// <param name="at">The place behind it; then behind the last one like it.</param>
    /// <param name="delta">Its offset delta.</param>
    /// <param name="count">Offset deltas end before it.</param>
    /// <returns>The offset delta of the last one like it.</returns>
    private static int PassAlike(
        ref byte origin, int end, int start, int bodyAt, ref int at, int delta, int count)
    {
        int size = at - start;
        ulong head = Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref origin, start));
        ushort body = Unsafe.ReadUnaligned<ushort>(ref Unsafe.Add(ref origin, start + bodyAt));
        ushort bodyMask = (body & 0x80) != 0 ? (ushort)0xFFFF : (ushort)0x00FF;

        // Length and attributes, the time's top bit, the offset delta, the key's length; then others' bytes.
        bool isOneByte = delta < 64;
        int deltaShift = 8 * ((head & 0x80) != 0 ? 4 : 3);
        int headSize = deltaShift + (isOneByte ? 16 : 24);
        ulong mask = (ulong.MaxValue >> (64 - headSize)) & ~(0x7FUL << (deltaShift - 8));
        ulong deltaMask = (isOneByte ? 0xFFUL : 0xFFFFUL) << deltaShift;
        ulong fixedPart = head & mask & ~deltaMask;
        int last = isOneByte ? Math.Min(count, 64) : count;
        int place = at;
        for (int next = delta + 1; next < last && size <= end - place && ShortRoom <= end - place; next++)
        {
            uint raw = (uint)next << 1;
            ulong expected = fixedPart | ((ulong)(isOneByte ? raw : VarInt.TwoBytes(raw)) << deltaShift);
            ulong found = Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref origin, place));
            ushort foundBody = Unsafe.ReadUnaligned<ushort>(ref Unsafe.Add(ref origin, place + bodyAt));
            if (((found ^ expected) & mask) != 0 || ((foundBody ^ body) & bodyMask) != 0
                || Unsafe.Add(ref origin, place + size - 1) != 0)
            {
                break;
            }

            place += size;
            delta = next;
        }

        at = place;
        return delta;
    }

    /// <summary>Takes the tag as the only header of a record, which ends behind it.</summary>
    private bool TryTakeTag(ref byte origin, int at, int rest)
    {
        if (rest <= sizeof(ulong)
            || Unsafe.ReadUnaligned<ulong>(ref Unsafe.Add(ref origin, at)) != RecordContent.LoneTagPrefix)
        {
            return false;
        }

        int length = VarInt.FromOneByte(Unsafe.Add(ref origin, at + sizeof(ulong)));
        if (length < 0 || sizeof(ulong) + 1 + length != rest)
            return false;
        NoteTag(at + sizeof(ulong) + 1, length);
        return true;
    }

    /// <summary>Takes a record of any form.</summary>
    /// <returns>The place behind it; -1 when it is wrong.</returns>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private int TakeAny(int at, int delta)
    {
        if (!RecordCursor.TryFind(_batch, ref at, out RecordRange record) || record.OffsetDelta != delta
            || record.TimestampDelta < RecordTime.EarliestMs - _baseTimestamp
            || record.TimestampDelta > RecordTime.LatestMs - _baseTimestamp)
        {
            return -1;
        }

        LargestBody = Math.Max(LargestBody, record.BodyLength);
        NoteTag(record.TagStart, record.TagLength);
        return at;
    }

    /// <summary>Adds the bit of a tag; neighbours mostly have the same one, which is hashed once.</summary>
    private void NoteTag(int start, int length)
    {
        if (!_wantsTags)
            return;
        if (length < 0)
        {
            TagBits |= Protocol.TagBits.Untagged;
            return;
        }

        ReadOnlySpan<byte> tag = _batch.Slice(start, length);
        if (_tagLength >= 0 && tag.SequenceEqual(_batch.Slice(_tagStart, _tagLength)))
            return;
        (_tagStart, _tagLength) = (start, length);
        TagBits |= Protocol.TagBits.Of(tag);
    }
}
