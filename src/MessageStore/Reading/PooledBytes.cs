using System.Buffers;

namespace EQueue.MessageStore;

/// <summary>Bytes of a read that live until it was looked at, in memory of the shared pool. One thread.</summary>
internal sealed class PooledBytes : IBufferWriter<byte>, IDisposable
{
    private const int FirstBytes = 64 << 10;

    private byte[] _bytes = [];
    private int _count;

    /// <summary>What was written, until the next write or the end.</summary>
    public ReadOnlyMemory<byte> Written => _bytes.AsMemory(0, _count);

    /// <summary>Forgets what was written.</summary>
    public void Clear() => _count = 0;

    /// <inheritdoc/>
    public void Advance(int count)
    {
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, _bytes.Length - _count);
        _count += count;
    }

    /// <inheritdoc/>
    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        Grow(sizeHint);
        return _bytes.AsMemory(_count);
    }

    /// <inheritdoc/>
    public Span<byte> GetSpan(int sizeHint = 0)
    {
        Grow(sizeHint);
        return _bytes.AsSpan(_count);
    }

    /// <inheritdoc/>
    public void Dispose()
    {
        if (_bytes.Length > 0)
            ArrayPool<byte>.Shared.Return(_bytes);
        _bytes = [];
        _count = 0;
    }

    private void Grow(int sizeHint)
    {
        int needed = _count + Math.Max(sizeHint, 1);
        if (needed <= _bytes.Length)
            return;
        byte[] larger = ArrayPool<byte>.Shared.Rent(Math.Max(needed, Math.Max(FirstBytes, _bytes.Length * 2)));
        _bytes.AsSpan(0, _count).CopyTo(larger);
        if (_bytes.Length > 0)
            ArrayPool<byte>.Shared.Return(_bytes);
        _bytes = larger;
    }
}
