using System.Buffers;

namespace EQueue.Cluster;

/// <summary>Entries that came from a leader, in memory that is given back when they are stored.</summary>
/// <remarks>One that is dropped on the way need not be given back.</remarks>
internal sealed class EntryBlock
{
    private readonly int _size;
    private byte[]? _bytes;

    private EntryBlock(byte[] bytes, int size) => (_bytes, _size) = (bytes, size);

    public ReadOnlySpan<byte> Span => _bytes.AsSpan(0, _size);

    public static EntryBlock Copy(ReadOnlySpan<byte> entries)
    {
        byte[] bytes = ArrayPool<byte>.Shared.Rent(entries.Length);
        entries.CopyTo(bytes);
        return new EntryBlock(bytes, entries.Length);
    }

    /// <summary>Gives the memory back; the entries must not be looked at any more.</summary>
    public void Release()
    {
        if (_bytes is { } bytes)
            ArrayPool<byte>.Shared.Return(bytes);
        _bytes = null;
    }
}
