namespace EQueue.Cli.Output;

/// <summary>The one way of results to standard output: it notices, and remembers, that the reader has gone.</summary>
/// <remarks>Nothing is kept here: what <see cref="Write(ReadOnlySpan{byte})"/> took without an exception is with the
/// system.</remarks>
internal sealed class ResultStream(Stream output) : OutputStream
{
    private bool _isClosed;

    /// <exception cref="OutputClosedException">The reader has gone.</exception>
    public override void Flush()
    {
        ThrowIfClosed();
        output.Flush();
    }

    /// <exception cref="OutputClosedException">The reader has gone.</exception>
    public override Task FlushAsync(CancellationToken cancellationToken)
    {
        ThrowIfClosed();
        return output.FlushAsync(cancellationToken);
    }

    /// <exception cref="OutputClosedException">The reader has gone.</exception>
    public override void Write(ReadOnlySpan<byte> buffer)
    {
        ThrowIfClosed();
        try
        {
            output.Write(buffer);
        }
        catch (OutputClosedException)
        {
            _isClosed = true;
            throw;
        }
    }

    /// <exception cref="OutputClosedException">The reader has gone.</exception>
    public override async ValueTask WriteAsync(
        ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        ThrowIfClosed();
        try
        {
            await output.WriteAsync(buffer, cancellationToken);
        }
        catch (OutputClosedException)
        {
            _isClosed = true;
            throw;
        }
    }

    private void ThrowIfClosed()
    {
        if (_isClosed)
            throw new OutputClosedException();
    }
}
