using System.Diagnostics;

namespace EQueue.Remoting;

/// <summary>Small frames that a receive loop holds back while it handles what came, to leave together.</summary>
/// <remarks>The corking thread adds without a lock; corking and taking are done under the sender's gate.</remarks>
internal sealed class CorkedFrames
{
    private readonly FrameQueue _frames = new();
    private List<FrameBuffer> _taken = [];
    private long _bytes;
    private int _corkedBy;

    /// <summary>Whether a thread has corked.</summary>
    public bool IsCorked => Volatile.Read(ref _corkedBy) != 0;

    /// <summary>Whether the calling thread has.</summary>
    public bool IsCorkedHere => Volatile.Read(ref _corkedBy) == Environment.CurrentManagedThreadId;

    /// <summary>Bytes that are held back. Any thread.</summary>
    public long Bytes => Volatile.Read(ref _bytes);

    /// <summary>The calling thread holds back from here on.</summary>
    public void Cork() => _corkedBy = Environment.CurrentManagedThreadId;

    /// <summary>Nothing is held back from here on.</summary>
    public void Uncork() => _corkedBy = 0;

    /// <summary>Copies a small frame behind those that are held back.</summary>
    public void Add(in FrameHeader header, ReadOnlySpan<byte> payload)
    {
        Debug.Assert(IsCorkedHere, "Only the thread that has corked holds back.");
        _frames.Append(header, payload);
        _bytes += header.Length;
    }

    /// <summary>Puts what the calling thread holds back behind what is queued.</summary>
    /// <returns>Bytes of it.</returns>
    public long MoveTo(FrameQueue queue)
    {
        if (_bytes == 0 || !IsCorkedHere)
            return 0;
        _taken = _frames.Take(_taken);
        foreach (FrameBuffer frame in _taken)
            queue.Add(frame);
        _taken.Clear();
        long bytes = _bytes;
        Volatile.Write(ref _bytes, 0);
        return bytes;
    }
}
