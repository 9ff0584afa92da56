using System.Buffers;
using System.Runtime.InteropServices;

namespace EQueue.Protocol.Tests.Records;

/// <summary>Memory outside the heap: no array behind it.</summary>
internal sealed unsafe class NativeBytes : MemoryManager<byte>
{
    private readonly byte* _bytes;
    private readonly int _size;

    public NativeBytes(ReadOnlySpan<byte> content)
    {
        _size = content.Length;
        _bytes = (byte*)NativeMemory.Alloc((nuint)_size);
        content.CopyTo(GetSpan());
    }

    public override Span<byte> GetSpan() => new(_bytes, _size);

    public override MemoryHandle Pin(int elementIndex = 0) => new(_bytes + elementIndex);

    public override void Unpin()
    {
    }

    protected override void Dispose(bool disposing) => NativeMemory.Free(_bytes);
}
