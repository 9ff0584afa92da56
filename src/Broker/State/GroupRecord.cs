using System.Buffers;
using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Whether a group has members, as the log's state holds it.</summary>
/// <param name="Name">The group.</param>
/// <param name="IsBroadcast">Its kind.</param>
/// <param name="HasMembers">Whether it has members.</param>
/// <param name="EmptySinceMs">Since when it has none, Unix ms; 0 while it has.</param>
/// <remarks>
/// State record of kind <see cref="Kind"/>; key = the name in UTF-8; value, little-endian:
/// <code>
/// at  size  field
///  0   1    version of this layout: 0
///  1   1    flags: bit 0 broadcast, bit 1 has members
///  2   8    without members since, i64 Unix ms; 0 while it has
/// </code>
/// </remarks>
internal sealed record GroupRecord(string Name, bool IsBroadcast, bool HasMembers, long EmptySinceMs)
{
    public const byte Kind = 66;

    private const byte Version = 0;
    private const byte BroadcastFlag = 1;
    private const byte MembersFlag = 2;

    public StateEntry ToEntry()
    {
        var value = new ArrayBufferWriter<byte>(10);
        var writer = new PayloadWriter(value);
        writer.WriteByte(Version);
        writer.WriteByte((byte)((IsBroadcast ? BroadcastFlag : 0) | (HasMembers ? MembersFlag : 0)));
        writer.WriteInt64(EmptySinceMs);
        return new StateEntry(Kind, Encoding.UTF8.GetBytes(Name), value.WrittenMemory);
    }

    public static StateEntry Removed(string name) => StateEntry.Removal(Kind, Encoding.UTF8.GetBytes(name));

    public static string ReadKey(in StateRecord record) => Encoding.UTF8.GetString(record.Key);

    /// <exception cref="InvalidDataException">The record is not one that this version wrote.</exception>
    public static GroupRecord Read(in StateRecord record)
    {
        string name = ReadKey(record);
        var reader = new PayloadReader(record.Value);
        byte version = reader.ReadByte();
        if (version != Version)
        {
            throw new InvalidDataException(
                $"Group record of '{name}' has version {version}; this build reads {Version}.");
        }

        byte flags = reader.ReadByte();
        var group = new GroupRecord(
            name, (flags & BroadcastFlag) != 0, (flags & MembersFlag) != 0, reader.ReadInt64());
        if (!reader.IsComplete)
            throw new InvalidDataException($"Group record of '{name}' does not fit its {record.Value.Length} bytes.");
        return group;
    }
}
