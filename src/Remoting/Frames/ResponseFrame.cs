namespace EQueue.Remoting;

/// <summary>An answer: a lease on the memory into which it was received, or, if it is small, on the copy that its call
/// keeps.</summary>
/// <remarks>Dispose exactly once, by the receiver; the header and the payload are gone afterwards. A second
/// dispose, of a copy as well, does nothing. It is two words long, because an awaiter copies it several
/// times.</remarks>
public readonly struct ResponseFrame : IDisposable
{
    private readonly FrameMemory? _memory;
    private readonly int _start;
    private readonly int _ticket;

    /// <summary>A frame in memory of its own.</summary>
    internal ResponseFrame(byte[] frame) => _memory = new OwnMemory(frame);

    /// <summary>A leased frame.</summary>
    /// <param name="memory">Holds the frame.</param>
    /// <param name="start">Where its header begins.</param>
    /// <param name="ticket">The lease's.</param>
    internal ResponseFrame(FrameMemory memory, int start, int ticket)
    {
        _memory = memory;
        _start = start;
        _ticket = ticket;
    }

    /// <summary>Whether there is no frame.</summary>
    internal bool IsNone => _memory is null;

    /// <summary>The answer's header; valid until dispose.</summary>
    public FrameHeader Header => _memory is null ? default : FrameHeader.Read(_memory.Array.AsSpan(_start));

    /// <summary>The answer's payload; valid until dispose.</summary>
    public ReadOnlyMemory<byte> Payload => _memory is null
        ? default
        : _memory.Array.AsMemory(_start + FrameHeader.Size, Header.PayloadBytes);

    /// <summary>The same as a span, which takes less to make than that of a memory.</summary>
    public ReadOnlySpan<byte> PayloadSpan => _memory is null
        ? default
        : _memory.Array.AsSpan(_start + FrameHeader.Size, Header.PayloadBytes);

    /// <summary>Gives the memory back.</summary>
    public void Dispose() => _memory?.EndLease(_start, _ticket);

    /// <summary>Serves one frame and is left to the garbage collector.</summary>
    private sealed class OwnMemory(byte[] frame) : FrameMemory(frame)
    {
        public override void EndLease(int frameStart, int ticket)
        {
        }
    }
}
