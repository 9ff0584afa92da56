namespace EQueue.Remoting;

/// <summary>An answer: a lease on the memory into which it was received, or, if it is small, on the copy that its call
/// keeps.</summary>
/// <remarks>Dispose exactly once, by whoever received it; the header and the payload are gone afterwards. A second
/// dispose, of a copy as well, does nothing. It is two words long, because whoever awaits one copies it several
/// times.</remarks>
public readonly struct ResponseFrame : IDisposable
{
    /// <summary>The block, the call to which it was copied, or an array of the frame's own.</summary>
    private readonly object? _memory;
    private readonly int _start;
    private readonly int _ticket;

    /// <summary>A frame in memory of its own.</summary>
    internal ResponseFrame(byte[] frame) => _memory = frame;

    /// <summary>A leased frame of a block.</summary>
    /// <param name="block">Holds the frame.</param>
    /// <param name="start">Where its header begins.</param>
    /// <param name="ticket">The lease's.</param>
    internal ResponseFrame(ReceiveBlock block, int start, int ticket)
    {
        _memory = block;
        _start = start;
        _ticket = ticket;
    }

    /// <summary>A small frame that was copied to its call.</summary>
    internal ResponseFrame(PendingCall call, int start, int ticket)
    {
        _memory = call;
        _start = start;
        _ticket = ticket;
    }

    /// <summary>Whether there is no frame.</summary>
    internal bool IsNone => _memory is null;

    /// <summary>The answer's header; valid until dispose.</summary>
    public FrameHeader Header => _memory is null ? default : FrameHeader.Read(Array.AsSpan(_start));

    /// <summary>The answer's payload; valid until dispose.</summary>
    public ReadOnlyMemory<byte> Payload => _memory is null
        ? default
        : Array.AsMemory(_start + FrameHeader.Size, Header.PayloadBytes);

    /// <summary>The same as a span, which takes less to make than that of a memory.</summary>
    public ReadOnlySpan<byte> PayloadSpan => _memory is null
        ? default
        : Array.AsSpan(_start + FrameHeader.Size, Header.PayloadBytes);

    private byte[] Array => _memory switch
    {
        PendingCall call => call.Cells,
        ReceiveBlock block => block.Array,
        _ => (byte[])_memory!,
    };

    /// <summary>Gives the memory back.</summary>
    public void Dispose()
    {
        if (_memory is PendingCall call)
            call.EndSmall(_ticket);
        else if (_memory is ReceiveBlock block)
            block.EndLease(_start, _ticket);
    }
}
