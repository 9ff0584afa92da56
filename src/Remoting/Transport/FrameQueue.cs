namespace EQueue.Remoting;

/// <summary>Frames that wait to be sent, in order. Small ones are copied into one buffer, to leave together in one
/// system call.</summary>
/// <remarks>Its owner guards it.</remarks>
internal sealed class FrameQueue
{
    /// <summary>Larger frames leave from their own buffers.</summary>
    public const int SmallFrameBytes = 32 * 1024;

    private const int JoinedBytes = 256 * 1024;

    private List<FrameBuffer> _frames = [];
    private FrameBuffer? _joined;
    private int _recentJoinedBytes;

    /// <summary>Whether nothing waits.</summary>
    public bool IsEmpty => _frames.Count == 0;

    /// <summary>Puts a frame behind those that wait. A small one is copied behind the small ones before it, to leave
    /// with them: its maker still has it in its cache.</summary>
    public void Add(FrameBuffer frame)
    {
        if (JoinedFor(frame.FrameBytes) is { } joined)
        {
            joined.Join(frame);
            return;
        }

        _joined = null;
        _frames.Add(frame);
    }

    /// <summary>Puts a copy of a small frame behind those that wait.</summary>
    public void Append(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        int bytes = (int)header.Length;
        (JoinedFor(bytes) ?? BeginJoined(bytes)).Append(header, payload);
    }

    /// <summary>Takes all that waits.</summary>
    /// <param name="sent">An earlier batch, to be used again.</param>
    public List<FrameBuffer> Take(List<FrameBuffer> sent)
    {
        _recentJoinedBytes = _joined?.FrameBytes ?? _recentJoinedBytes / 2;
        _joined = null;
        sent.Clear();
        List<FrameBuffer> taken = _frames;
        _frames = sent;
        return taken;
    }

    /// <summary>Lets go of all that waits.</summary>
    /// <returns>Bytes of it.</returns>
    public long Drop()
    {
        long bytes = 0;
        foreach (FrameBuffer frame in _frames)
        {
            bytes += frame.FrameBytes;
            frame.Dispose();
        }

        _frames.Clear();
        _joined = null;
        return bytes;
    }

    /// <summary>The small frames at the end in one buffer, if so many bytes go with them.</summary>
    private FrameBuffer? JoinedFor(int bytes)
    {
        FrameBuffer? last = _frames.Count > 0 ? _frames[^1] : null;
        if (last is null || bytes > SmallFrameBytes || last.FrameBytes + bytes > JoinedBytes)
            return null;
        if (last == _joined)
            return last;
        return last.FrameBytes > SmallFrameBytes ? null : BeginJoined(last.FrameBytes + bytes, last);
    }

    /// <summary>A buffer at the end for frames that leave together; it takes the place of
    /// <paramref name="first"/>.</summary>
    private FrameBuffer BeginJoined(int bytes, FrameBuffer? first = null)
    {
        _joined = FrameBuffer.RentForJoining(Math.Max(_recentJoinedBytes, bytes));
        if (first is null)
        {
            _frames.Add(_joined);
        }
        else
        {
            _joined.Join(first);
            _frames[^1] = _joined;
        }

        return _joined;
    }
}
