using System.Buffers;

namespace EQueue.Remoting;

/// <summary>A pooled, pinned, growing buffer into which one frame's payload is encoded.</summary>
/// <remarks>
/// <para>The header's bytes are reserved in front, so that header and payload leave as one piece. All indexes here
/// count payload bytes.</para>
/// <para>Has one owner, who fills it and then either hands it to a connection or client (which owns it from then on,
/// even when the call fails) or disposes it. Not thread-safe.</para>
/// </remarks>
public sealed class FrameBuffer : IBufferWriter<byte>, IDisposable
{
    private static readonly SizeClassPool<FrameBuffer> Pool = PinnedMemory.Pool(bytes => new FrameBuffer(bytes));

    private byte[] _array;
    private int _end;
    private int _rented;
    private int _maxEnd = int.MaxValue;
    private SendBudget? _budget;
    private long _takenBytes;

    private FrameBuffer(int bytes) => _array = PinnedMemory.Allocate(bytes);

    /// <summary>Payload bytes written so far.</summary>
    public int WrittenCount => _end - FrameHeader.Size;

    /// <summary>The payload written so far; valid until the next growth.</summary>
    public ReadOnlyMemory<byte> WrittenMemory => _array.AsMemory(FrameHeader.Size, WrittenCount);

    /// <summary>The payload written so far; valid until the next growth.</summary>
    public ReadOnlySpan<byte> WrittenSpan => _array.AsSpan(FrameHeader.Size, WrittenCount);

    /// <summary>Header and payload.</summary>
    internal ReadOnlyMemory<byte> Frame => _array.AsMemory(0, _end);

    /// <summary>Bytes of header and payload.</summary>
    internal int FrameBytes => _end;

    /// <summary>Frees the memory that the process keeps to send and receive frames and that is not in use: the
    /// garbage collector may have it.</summary>
    public static void ReleaseKept() => PinnedMemory.ReleaseKept();

    /// <summary>An empty buffer.</summary>
    /// <param name="sizeHint">Payload bytes that are expected; it grows beyond by itself.</param>
    public static FrameBuffer Rent(int sizeHint = 0)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);
        FrameBuffer buffer = Pool.Rent(checked(sizeHint + FrameHeader.Size));
        buffer._end = FrameHeader.Size;
        Volatile.Write(ref buffer._rented, 1);
        return buffer;
    }

    /// <summary>Bounds what is written from now on, and takes what it grows by from a budget until it is queued or let
    /// go.</summary>
    /// <param name="maxFrameBytes">Header and payload.</param>
    /// <param name="budget">Of all unsent frames; null = none.</param>
    /// <remarks>Beyond either a write throws <see cref="SendMemoryException"/>; the owner still disposes the buffer.
    /// What fits into a unit of the budget is not counted.</remarks>
    public void Bound(int maxFrameBytes, SendBudget? budget)
    {
        _maxEnd = maxFrameBytes;
        _budget = budget;
    }

    /// <summary>Takes memory of the budget of <see cref="Bound"/> ahead of growing into it.</summary>
    /// <returns>False when there is none.</returns>
    public bool TryTake(int bytes)
    {
        long more = bytes - _takenBytes;
        if (_budget is null || bytes <= SendBudget.UnitBytes || more <= 0)
            return true;
        if (!_budget.TryTake(more))
            return false;
        _takenBytes += more;
        return true;
    }

    /// <summary>A copy of a payload.</summary>
    public static FrameBuffer Of(ReadOnlySpan<byte> payload)
    {
        FrameBuffer buffer = Rent(payload.Length);
        payload.CopyTo(buffer.Reserve(payload.Length));
        return buffer;
    }

    /// <summary>An empty buffer for <see cref="Join"/>: what is joined is its <see cref="Frame"/>.</summary>
    /// <param name="bytes">Expected of all frames together; it grows beyond by itself.</param>
    internal static FrameBuffer RentForJoining(int bytes)
    {
        FrameBuffer buffer = Rent(bytes);
        buffer._end = 0;
        return buffer;
    }

    /// <summary>Puts a sealed frame behind those that are there, and lets go of it.</summary>
    internal void Join(FrameBuffer frame)
    {
        frame._array.AsSpan(0, frame._end).CopyTo(Reserve(frame._end));
        frame.Dispose();
    }

    /// <summary>Writes a whole frame behind those that are there.</summary>
    internal void Append(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        Span<byte> frame = Reserve(FrameHeader.Size + payload.Length);
        header.Write(frame);
        payload.CopyTo(frame[FrameHeader.Size..]);
    }

    /// <inheritdoc/>
    public Span<byte> GetSpan(int sizeHint = 0)
    {
        EnsureRoom(sizeHint);
        return _array.AsSpan(_end);
    }

    /// <inheritdoc/>
    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        EnsureRoom(sizeHint);
        return _array.AsMemory(_end);
    }

    /// <inheritdoc/>
    public void Advance(int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, _array.Length - _end);
        _end += count;
    }

    /// <summary>Takes so many bytes to be filled by the caller: now, or later through <see cref="Slice"/>.</summary>
    /// <returns>The bytes, with arbitrary content; valid until the next growth.</returns>
    public Span<byte> Reserve(int count)
    {
        EnsureRoom(count);
        Span<byte> reserved = _array.AsSpan(_end, count);
        _end += count;
        return reserved;
    }

    /// <summary>Written payload bytes by their absolute index, to fill in a count or a length that is known
    /// late.</summary>
    /// <returns>The bytes; valid until the next growth.</returns>
    public Span<byte> Slice(int index, int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(index);
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(index, WrittenCount - count);
        return _array.AsSpan(FrameHeader.Size + index, count);
    }

    /// <summary>Forgets what was written at and after <paramref name="writtenCount"/>.</summary>
    public void Truncate(int writtenCount)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(writtenCount);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(writtenCount, WrittenCount);
        _end = FrameHeader.Size + writtenCount;
    }

    /// <summary>Adds an owner, who disposes it as well: for a sender that keeps the frame until it is answered, to send
    /// it again.</summary>
    /// <remarks>Only an owner may call it. The payload must not be written while another owner has the frame.</remarks>
    public void Retain() => Interlocked.Increment(ref _rented);

    /// <summary>Lets go; the last owner gives the memory back. A call too many while it waits in the pool does
    /// nothing.</summary>
    public void Dispose()
    {
        int owners = Volatile.Read(ref _rented);
        while (owners > 0)
        {
            int seen = Interlocked.CompareExchange(ref _rented, owners - 1, owners);
            if (seen == owners)
                break;
            owners = seen;
        }

        if (owners != 1)
            return;
        GiveBack();
        PinnedMemory.Poison(_array);
        Pool.Return(this, _array.Length);
    }

    /// <summary>Writes the header; the buffer is ready to leave.</summary>
    internal void Seal(byte opcode, byte version, FrameFlags flags, uint correlationId, ushort error)
    {
        GiveBack();
        new FrameHeader((uint)_end, opcode, version, flags, correlationId, error).Write(_array);
    }

    /// <summary>From here on it counts where it is queued, or not at all.</summary>
    private void GiveBack()
    {
        if (_takenBytes > 0)
            _budget!.Give(_takenBytes);
        _takenBytes = 0;
        _budget = null;
        _maxEnd = int.MaxValue;
    }

    private void EnsureRoom(int sizeHint)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);
        int needed = Math.Max(sizeHint, 1);
        if (needed > _array.Length - _end || _end > _maxEnd - needed)
            Grow(needed);
    }

    private void Grow(int needed)
    {
        if (_end > _maxEnd - needed)
        {
            throw new SendMemoryException(
                $"A frame of {(long)_end + needed} bytes or more exceeds the maximum of {_maxEnd}.", isTooLong: true);
        }

        long wanted = Math.Max((long)_array.Length * 2, (long)_end + needed);
        if (!TryTake((int)Math.Min(wanted, Array.MaxLength)))
        {
            throw new SendMemoryException(
                $"{_budget!.UsedBytes} of {_budget.MaxBytes} bytes for unsent frames are taken.", isTooLong: false);
        }

        FrameBuffer larger = Pool.Rent((int)Math.Min(Math.Max(wanted, _end + (long)needed), Array.MaxLength));
        if (larger._array.Length - _end < needed)
            throw new InvalidOperationException($"A frame of {_end + (long)needed} bytes does not fit into one array.");

        _array.AsSpan(0, _end).CopyTo(larger._array);
        (_array, larger._array) = (larger._array, _array);
        PinnedMemory.Poison(larger._array);
        Pool.Return(larger, larger._array.Length);
    }
}
