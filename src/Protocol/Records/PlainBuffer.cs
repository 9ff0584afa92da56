using System.Buffers;
using At = EQueue.Protocol.RecordBatchLayout;

namespace EQueue.Protocol;

/// <summary>Where a compressed batch becomes plain: pooled memory that grows with what really comes, up to a
/// bound.</summary>
/// <remarks>The first bytes are kept free for the batch's header. One thread; disposed exactly once.</remarks>
internal sealed class PlainBuffer : IDisposable
{
    private readonly int _maxSize;
    private byte[] _array;

    /// <param name="expectedSize">Bytes that are taken at once, as far as the bound allows.</param>
    /// <param name="maxSize">The most bytes that the plain batch may have, at least a header.</param>
    public PlainBuffer(long expectedSize, int maxSize)
    {
        _maxSize = maxSize;
        _array = ArrayPool<byte>.Shared.Rent((int)Math.Clamp(expectedSize, At.HeaderSize, maxSize));
        Size = At.HeaderSize;
    }

    /// <summary>Bytes so far, header included.</summary>
    public int Size { get; private set; }

    /// <summary>The batch so far.</summary>
    public Span<byte> Batch => _array.AsSpan(0, Size);

    /// <summary>The room at hand behind what is there; empty when it is used up.</summary>
    public Span<byte> Free => _array.AsSpan(Size, Math.Min(_array.Length, _maxSize) - Size);

    /// <summary>The bytes of <see cref="Free"/> that were filled belong to the batch.</summary>
    public void Advance(int count) => Size += count;

    /// <summary>Makes <see cref="Free"/> larger: at least by half as much as is there.</summary>
    /// <returns>False at the bound.</returns>
    public bool TryGrow() => TryGrow((int)Math.Min(int.MaxValue, 2L * _array.Length));

    /// <summary>Makes room for so many bytes more.</summary>
    /// <returns>False when the bound does not allow them.</returns>
    public bool TryReserve(int count) =>
        count <= _maxSize - Size && (count <= Free.Length || TryGrow(Size + count));

    /// <inheritdoc/>
    public void Dispose()
    {
        ArrayPool<byte>.Shared.Return(_array);
        _array = [];
    }

    private bool TryGrow(int size)
    {
        if (_array.Length >= _maxSize)
            return false;
        byte[] larger = ArrayPool<byte>.Shared.Rent(Math.Min(size, _maxSize));
        Batch.CopyTo(larger);
        ArrayPool<byte>.Shared.Return(_array);
        _array = larger;
        return true;
    }
}
