namespace EQueue.Cli.Output;

/// <summary>The one way of results to standard output: it notices, and remembers, that the reader has gone.</summary>
/// <remarks>Nothing is kept here: what <see cref="Write(ReadOnlySpan{byte})"/> took without an exception is with the
/// system.</remarks>
internal sealed class ResultStream(Stream output) : Stream
{
    private bool _isClosed;

    public override bool CanRead => false;

    public override bool CanSeek => false;

    public override bool CanWrite => true;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

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

    public override void Write(byte[] buffer, int offset, int count) => Write(buffer.AsSpan(offset, count));

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

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    private void ThrowIfClosed()
    {
        if (_isClosed) throw new OutputClosedException();
    }
}
