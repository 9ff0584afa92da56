using System.Buffers;

namespace EQueue.MessageStore;

/// <summary>Reads a section from front to back through a buffer. One thread.</summary>
/// <remarks>The buffer grows to the largest item asked for, which is never more than what is left of the
/// section.</remarks>
internal sealed class SectionCursor(SectionFileReader reader, FileSection section) : IDisposable
{
    private const int BufferSize = 64 * 1024;

    private byte[] _buffer = ArrayPool<byte>.Shared.Rent(BufferSize);
    private int _start;
    private int _end;
    private long _readTo;

    /// <summary>Bytes of the section not yet taken.</summary>
    public long Remaining => section.Length - _readTo + (_end - _start);

    /// <summary>Takes the next bytes; false when the section has fewer.</summary>
    /// <param name="size">How many; 0 or more.</param>
    /// <param name="bytes">Valid until the next call.</param>
    public bool TryTake(long size, out ReadOnlySpan<byte> bytes)
    {
        bytes = default;
        if (size < 0 || size > Remaining || size > Array.MaxLength)
            return false;
        if (size > _end - _start && !Fill((int)size))
            return false;

        bytes = _buffer.AsSpan(_start, (int)size);
        _start += (int)size;
        return true;
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        byte[] buffer = _buffer;
        _buffer = [];
        if (buffer.Length > 0)
            ArrayPool<byte>.Shared.Return(buffer);
    }

    private bool Fill(int size)
    {
        int held = _end - _start;
        if (size > _buffer.Length)
        {
            byte[] larger = ArrayPool<byte>.Shared.Rent(size);
            _buffer.AsSpan(_start, held).CopyTo(larger);
            ArrayPool<byte>.Shared.Return(_buffer);
            _buffer = larger;
        }
        else
        {
            _buffer.AsSpan(_start, held).CopyTo(_buffer);
        }

        _start = 0;
        _end = held;
        int more = (int)Math.Min(_buffer.Length - held, section.Length - _readTo);
        if (!reader.TryRead(section, _readTo, _buffer.AsSpan(held, more)))
            return false;
        _readTo += more;
        _end += more;
        return _end >= size;
    }
}
