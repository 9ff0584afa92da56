namespace EQueue.Remoting;

/// <summary>One end of a connection in memory.</summary>
internal sealed class InMemoryStream
{
    private readonly InMemoryFlow _incoming;
    private readonly InMemoryFlow _outgoing;

    private InMemoryStream(InMemoryFlow incoming, InMemoryFlow outgoing)
    {
        _incoming = incoming;
        _outgoing = outgoing;
    }

    /// <summary>Both ends of a new connection.</summary>
    public static (InMemoryStream Near, InMemoryStream Far) CreatePair()
    {
        (InMemoryFlow there, InMemoryFlow back) = (new InMemoryFlow(), new InMemoryFlow());
        return (new InMemoryStream(back, there), new InMemoryStream(there, back));
    }

    /// <inheritdoc cref="InMemoryFlow.ReadAsync"/>
    public ValueTask<int> ReadAsync(Memory<byte> into, CancellationToken cancellationToken) =>
        _incoming.ReadAsync(into, cancellationToken);

    /// <inheritdoc cref="InMemoryFlow.WriteAsync"/>
    public async ValueTask<int> WriteAsync(ReadOnlyMemory<byte> bytes)
    {
        await _outgoing.WriteAsync(bytes, CancellationToken.None).ConfigureAwait(false);
        return bytes.Length;
    }

    /// <summary>The other end reads what was written and then the end; this one reads on.</summary>
    public void EndSending() => _outgoing.End();

    /// <summary>Closes as a socket does: the other end still gets what was written, unless this one leaves something
    /// unread; then it is told of a reset.</summary>
    public void Abort()
    {
        if (_incoming.Cut())
            _outgoing.Cut();
        else
            _outgoing.End();
    }
}
