namespace EQueue.MessageStore;

/// <summary>
/// A ring of memory over the end of the log: the byte of a position lies at position mod size. Appends are staged here,
/// written from here, and readers of the newest bytes are served from here. Who may touch what, the log's watermarks
/// say.
/// </summary>
internal sealed class Arena
{
    private readonly byte[] _bytes;
    private readonly long _mask;

    /// <summary>Makes a ring of the next power of two at or above <paramref name="size"/>.</summary>
    public Arena(long size)
    {
        int rounded = checked((int)System.Numerics.BitOperations.RoundUpToPowerOf2((ulong)size));
        // Pinned: it lives as long as the log and is handed to system calls all the time.
        _bytes = GC.AllocateUninitializedArray<byte>(rounded, pinned: true);
        _mask = rounded - 1;
    }

    /// <summary>Bytes of the ring.</summary>
    public int Size => _bytes.Length;

    /// <summary>Bytes that may be staged and not visible. The rest always holds visible bytes for the readers of the
    /// tail.</summary>
    public int UnseenSize => Size / 4 * 3;

    /// <summary>Puts bytes at a position, around the end where needed.</summary>
    public void Write(long position, ReadOnlySpan<byte> bytes)
    {
        int at = (int)(position & _mask);
        int head = Math.Min(bytes.Length, _bytes.Length - at);
        bytes[..head].CopyTo(_bytes.AsSpan(at));
        bytes[head..].CopyTo(_bytes);
    }

    /// <summary>Gets bytes from a position, around the end where needed.</summary>
    public void Read(long position, Span<byte> bytes)
    {
        int at = (int)(position & _mask);
        int head = Math.Min(bytes.Length, _bytes.Length - at);
        _bytes.AsSpan(at, head).CopyTo(bytes);
        _bytes.AsSpan(0, bytes.Length - head).CopyTo(bytes[head..]);
    }

    /// <summary>The bytes from a position on: <paramref name="length"/>, or fewer up to the end of the ring.</summary>
    public ReadOnlySpan<byte> From(long position, long length)
    {
        int at = (int)(position & _mask);
        return _bytes.AsSpan(at, (int)Math.Min(length, _bytes.Length - at));
    }
}
