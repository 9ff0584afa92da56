using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Compresses the batches of one lane as they leave.</summary>
/// <remarks>Thread-safe: batches with and without acknowledgements leave on different threads.</remarks>
internal sealed class BatchPacker(RecordCodec codec) : IDisposable
{
    private readonly RecordCompressor _compressor = new(codec);
    private readonly Lock _gate = new();
    private bool _isDisposed;

    /// <summary>Compresses a finished batch in its place, if that makes it smaller.</summary>
    /// <returns>Bytes of the batch now.</returns>
    public int Pack(Span<byte> batch)
    {
        lock (_gate)
            return _isDisposed ? batch.Length : _compressor.Compress(batch);
    }

    public void Dispose()
    {
        lock (_gate)
        {
            if (!_isDisposed)
                _compressor.Dispose();
            _isDisposed = true;
        }
    }
}
