namespace EQueue.Remoting;

/// <summary>An answer: a lease on the memory into which it was received.</summary>
/// <remarks>Dispose exactly once, by whoever received it; the payload is gone afterwards. A second dispose, of a copy
/// as well, does nothing.</remarks>
public readonly struct ResponseFrame : IDisposable
{
    private readonly ReceiveBlock? _block;
    private readonly int _lease;
    private readonly int _ticket;

    internal ResponseFrame(FrameHeader header, ReadOnlyMemory<byte> payload, ReceiveBlock? block, int lease, int ticket)
    {
        Header = header;
        Payload = payload;
        _block = block;
        _lease = lease;
        _ticket = ticket;
    }

    /// <summary>The answer's header.</summary>
    public FrameHeader Header { get; }

    /// <summary>The answer's payload; valid until dispose.</summary>
    public ReadOnlyMemory<byte> Payload { get; }

    /// <summary>Gives the memory back.</summary>
    public void Dispose() => _block?.EndLease(_lease, _ticket);
}
