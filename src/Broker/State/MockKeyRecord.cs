using System.Buffers;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>The key of <see cref="MockSecrets"/>, from which that of <see cref="ProducerNames"/> comes, as the log's
/// state holds it: there once there are users or rules.</summary>
/// <remarks>
/// State record of kind <see cref="Kind"/>; empty key; value, little-endian:
/// <code>
/// at  size  field
///  0   1    version of this layout: 0
///  1   32   random bytes
/// </code>
/// </remarks>
internal static class MockKeyRecord
{
    public const byte Kind = 73;

    /// <summary>Bytes of a key.</summary>
    public const int KeySize = 32;

    private const byte Version = 0;

    public static StateEntry ToEntry(ReadOnlySpan<byte> key)
    {
        var value = new ArrayBufferWriter<byte>(1 + KeySize);
        var writer = new PayloadWriter(value);
        writer.WriteByte(Version);
        writer.WriteRaw(key);
        return new StateEntry(Kind, ReadOnlyMemory<byte>.Empty, value.WrittenMemory);
    }

    /// <exception cref="InvalidDataException">The record is not one that this version wrote.</exception>
    public static byte[] Read(in StateRecord record)
    {
        var reader = new PayloadReader(record.Value);
        byte version = reader.ReadByte();
        if (version != Version)
            throw new InvalidDataException($"A mock key record has version {version}; this build reads {Version}.");
        byte[] key = reader.ReadRaw(KeySize).ToArray();
        return reader.IsComplete
            ? key
            : throw new InvalidDataException($"A mock key record does not fit its {record.Value.Length} bytes.");
    }
}
