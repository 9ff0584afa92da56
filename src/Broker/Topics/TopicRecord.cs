using System.Buffers;
using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>
/// A topic as the log's state holds it. Its queues are the store's own records, under the same topic id.
/// </summary>
/// <remarks>
/// State record of kind <see cref="Kind"/>; key = the name in UTF-8; value, little-endian:
/// <code>
/// at  size  field
///  0   1    version of this layout: 0
///  1  16    topic id
/// 17   8    created, i64 Unix ms
/// 25   -    settings, all present (TopicSettings)
/// </code>
/// </remarks>
internal sealed record TopicRecord(string Name, TopicId Id, long CreatedMs, TopicSettings Settings)
{
    public const byte Kind = 64;

    private const byte Version = 0;

    public StateEntry ToEntry()
    {
        var value = new ArrayBufferWriter<byte>(96);
        var writer = new PayloadWriter(value);
        writer.WriteByte(Version);
        writer.WriteGuid(Id.Value);
        writer.WriteInt64(CreatedMs);
        Settings.Write(writer);
        return new StateEntry(Kind, Encoding.UTF8.GetBytes(Name), value.WrittenMemory);
    }

    public static StateEntry Removed(string name) => new(Kind, Encoding.UTF8.GetBytes(name), null);

    public static string ReadKey(in StateRecord record) => Encoding.UTF8.GetString(record.Key);

    /// <exception cref="InvalidDataException">The record is not one that this version wrote.</exception>
    public static TopicRecord Read(in StateRecord record)
    {
        string name = ReadKey(record);
        var reader = new PayloadReader(record.Value);
        byte version = reader.ReadByte();
        if (version != Version)
            throw new InvalidDataException(
                $"Topic record of '{name}' has version {version}; this build reads {Version}.");
        var topic = new TopicRecord(
            name, new TopicId(reader.ReadGuid()), reader.ReadInt64(), TopicSettings.Read(ref reader));
        if (!reader.IsComplete)
            throw new InvalidDataException($"Topic record of '{name}' does not fit its {record.Value.Length} bytes.");
        return topic;
    }
}
