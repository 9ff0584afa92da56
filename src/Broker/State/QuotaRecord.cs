using System.Buffers;
using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>A quota as the log's state holds it.</summary>
/// <remarks>
/// State record of kind <see cref="Kind"/>; key = the quota kind's byte, then the name in UTF-8; value, little-endian:
/// <code>
/// at  size  field
///  0   1    version of this layout: 0
///  1   8    produce bytes per second, i64; 0 = no bound
///  9   8    fetch bytes per second, i64
/// 17   8    requests per second, i64
/// </code>
/// </remarks>
internal static class QuotaRecord
{
    public const byte Kind = 68;

    private const byte Version = 0;

    /// <summary>The record that sets a quota, or removes it when it bounds nothing.</summary>
    public static StateEntry ToEntry(Quota quota)
    {
        byte[] key = [(byte)quota.Kind, .. Encoding.UTF8.GetBytes(quota.Name)];
        if (quota.IsEmpty)
            return StateEntry.Removal(Kind, key);
        var value = new ArrayBufferWriter<byte>(25);
        var writer = new PayloadWriter(value);
        writer.WriteByte(Version);
        writer.WriteInt64(quota.ProduceBytes);
        writer.WriteInt64(quota.FetchBytes);
        writer.WriteInt64(quota.Requests);
        return new StateEntry(Kind, key, value.WrittenMemory);
    }

    /// <exception cref="InvalidDataException">The record has no kind.</exception>
    public static QuotaKey ReadKey(in StateRecord record) => record.Key.IsEmpty
        ? throw new InvalidDataException("A quota record has no key.")
        : new QuotaKey((QuotaKind)record.Key[0], Encoding.UTF8.GetString(record.Key[1..]));

    /// <exception cref="InvalidDataException">The record is not one that this version wrote.</exception>
    public static Quota Read(in StateRecord record)
    {
        QuotaKey key = ReadKey(record);
        var reader = new PayloadReader(record.Value);
        byte version = reader.ReadByte();
        if (version != Version)
        {
            throw new InvalidDataException(
                $"Quota record of '{key.Name}' has version {version}; this build reads {Version}.");
        }

        var quota = new Quota(key.Kind, key.Name, reader.ReadInt64(), reader.ReadInt64(), reader.ReadInt64());
        return reader.IsComplete
            ? quota
            : throw new InvalidDataException(
                $"Quota record of '{key.Name}' does not fit its {record.Value.Length} bytes.");
    }
}

/// <summary>Whose quota it is.</summary>
internal readonly record struct QuotaKey(QuotaKind Kind, string Name);
