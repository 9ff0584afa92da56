using System.Buffers;

namespace EQueue.Server.Http;

/// <summary>Bytes of any number in pieces from the shared pool: no copy is made while they grow.</summary>
/// <remarks>Used by one flow at a time. Disposed once, after its pieces.</remarks>
internal sealed class PieceWriter : IBufferWriter<byte>, IDisposable
{
    private const int LeastPieceBytes = 64 << 10;

    private readonly List<(byte[] Bytes, int Count)> _full = [];
    private byte[] _last = [];
    private int _count;

    public long Length { get; private set; }

    public IEnumerable<ReadOnlyMemory<byte>> Pieces =>
    [
        .. _full.Select(static piece => (ReadOnlyMemory<byte>)piece.Bytes.AsMemory(0, piece.Count)),
        _last.AsMemory(0, _count),
    ];

    public void Advance(int count)
    {
        _count += count;
        Length += count;
    }

    public Memory<byte> GetMemory(int sizeHint = 0)
    {
        if (_last.Length - _count < Math.Max(sizeHint, 1))
        {
            byte[] next = ArrayPool<byte>.Shared.Rent(Math.Max(sizeHint, LeastPieceBytes));
            if (_last.Length > 0)
                _full.Add((_last, _count));
            (_last, _count) = (next, 0);
        }

        return _last.AsMemory(_count);
    }

    public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;

    public void Dispose()
    {
        foreach ((byte[] bytes, _) in _full)
            ArrayPool<byte>.Shared.Return(bytes);
        if (_last.Length > 0)
            ArrayPool<byte>.Shared.Return(_last);
        _full.Clear();
        (_last, _count) = ([], 0);
    }
}
