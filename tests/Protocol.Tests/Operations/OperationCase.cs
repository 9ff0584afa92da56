using System.Buffers;
using EQueue.Support.Fuzz;

namespace EQueue.Protocol.Tests.Operations;

/// <summary>One kind of body: how to make an arbitrary one, and how to read and write it again.</summary>
public sealed record OperationCase(
    string Name, Func<Random, byte[]> Make, Func<byte[], byte[]?> ReadAndWrite, ByteReader Read)
{
    public static OperationCase Of<T>(Func<Random, T> make)
        where T : IPayload<T> =>
        new(
            typeof(T).Name,
            random => Encode(make(random)),
            bytes => Payload.TryRead(bytes, out T value) ? Encode(value) : null,
            static bytes => Payload.TryRead(bytes, out T _));

    public static byte[] Encode<T>(T value)
        where T : IPayload<T>
    {
        var output = new ArrayBufferWriter<byte>();
        value.Write(new PayloadWriter(output));
        return output.WrittenSpan.ToArray();
    }

    public override string ToString() => Name;
}
