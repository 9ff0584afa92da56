using System.Buffers;
using EQueue.Protocol;
using EQueue.Replication;

namespace EQueue.Cluster;

/// <summary>The bytes that the rules keep in a directory's file <c>replica</c> (little-endian): version u8 = 1, life,
/// number of former lives u8, those, sync u8, epoch i32, nonce, durable i64, committed i64. Lives and nonces have 16
/// bytes, the higher half first.</summary>
internal static class RecordCodec
{
    private const byte Version = 1;

    public static byte[] Write(ReplicaRecord record)
    {
        var bytes = new ArrayBufferWriter<byte>(512);
        var writer = new PayloadWriter(bytes);
        writer.WriteByte(Version);
        Write(writer, record.Life.Value);
        writer.WriteByte((byte)record.Former.Count);
        foreach (Life life in record.Former)
            Write(writer, life.Value);
        writer.WriteBool(record.IsSync);
        writer.WriteInt32(record.Epoch);
        Write(writer, record.Nonce.Value);
        writer.WriteInt64(record.Durable.Value);
        writer.WriteInt64(record.Committed.Value);
        return bytes.WrittenSpan.ToArray();
    }

    /// <summary>Reads a record.</summary>
    /// <returns>Null when there is none: an empty directory.</returns>
    /// <exception cref="InvalidDataException">The bytes are another version's, or none of a record.</exception>
    public static ReplicaRecord? Read(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty)
            return null;
        var reader = new PayloadReader(bytes);
        byte version = reader.ReadByte();
        if (version != Version)
        {
            throw new InvalidDataException(
                $"The file replica has a record of version {version}; this build knows {Version}.");
        }

        var life = new Life(ReadNumber(ref reader));
        var former = new Life[Math.Min((int)reader.ReadByte(), ReplicaRecord.MostFormer)];
        for (int i = 0; i < former.Length; i++)
            former[i] = new Life(ReadNumber(ref reader));
        var record = new ReplicaRecord(
            life,
            former,
            reader.ReadBool(),
            reader.ReadInt32(),
            new Nonce(ReadNumber(ref reader)),
            new LogPosition(reader.ReadInt64()),
            new LogPosition(reader.ReadInt64()));
        return reader.IsComplete
            ? record
            : throw new InvalidDataException($"The {bytes.Length} bytes in the file replica are no record.");
    }

    private static void Write(PayloadWriter writer, UInt128 value)
    {
        writer.WriteUInt64((ulong)(value >> 64));
        writer.WriteUInt64((ulong)value);
    }

    private static UInt128 ReadNumber(ref PayloadReader reader) => new(reader.ReadUInt64(), reader.ReadUInt64());
}
