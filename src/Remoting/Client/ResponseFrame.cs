namespace EQueue.Remoting;

/// <summary>An answer: a lease on the memory into which it was received.</summary>
/// <remarks>Dispose exactly once, by whoever received it; the header and the payload are gone afterwards. A second
/// dispose, of a copy as well, does nothing. It is two words long, because whoever awaits one copies it several
/// times.</remarks>
public readonly struct ResponseFrame : IDisposable
{
    /// <summary>The block, or an array of the frame's own.</summary>
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

    /// <summary>The answer's header; valid until dispose.</summary>
    public FrameHeader Header => _memory is null ? default : FrameHeader.Read(Array.AsSpan(_start));

    /// <summary>The answer's payload; valid until dispose.</summary>
    public ReadOnlyMemory<byte> Payload => _memory is null
        ? default
        : Array.AsMemory(_start + FrameHeader.Size, Header.PayloadBytes);

    private byte[] Array => _memory is ReceiveBlock block ? block.Array : (byte[])_memory!;

    /// <summary>Gives the memory back.</summary>
    public void Dispose() => (_memory as ReceiveBlock)?.EndLease(_start, _ticket);
}
