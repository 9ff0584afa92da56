using System.Buffers;
using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>A user as the log's state holds it.</summary>
/// <remarks>
/// State record of kind <see cref="Kind"/>; key = the name in UTF-8; value, little-endian:
/// <code>
/// at  size  field
///  0   1    version of this layout: 0
///  1   1    bit 0: disabled, bit 1: has a password
///  2   ...  with a password: salt (u32 size, bytes), iterations i32, StoredKey and ServerKey (u32 size, bytes each)
///      4    number of groups, u32; then each a string (u16 size, UTF-8)
/// </code>
/// </remarks>
internal sealed record UserRecord(string Name, bool IsDisabled, ScramSecret? Secret, IReadOnlyList<string> Groups)
{
    public const byte Kind = 69;

    private const byte Version = 0;
    private const byte Disabled = 1;
    private const byte HasPassword = 2;

    public UserListing ToListing() => new(Name, IsDisabled, Secret is not null, Groups);

    public StateEntry ToEntry()
    {
        var value = new ArrayBufferWriter<byte>(128);
        var writer = new PayloadWriter(value);
        writer.WriteByte(Version);
        writer.WriteByte((byte)((IsDisabled ? Disabled : 0) | (Secret is null ? 0 : HasPassword)));
        Secret?.Write(writer);
        writer.WriteStrings(Groups);
        return new StateEntry(Kind, Encoding.UTF8.GetBytes(Name), value.WrittenMemory);
    }

    public static StateEntry Removal(string name) => StateEntry.Removal(Kind, Encoding.UTF8.GetBytes(name));

    public static string ReadKey(in StateRecord record) => Encoding.UTF8.GetString(record.Key);

    /// <exception cref="InvalidDataException">The record is not one that this version wrote.</exception>
    public static UserRecord Read(in StateRecord record)
    {
        string name = ReadKey(record);
        var reader = new PayloadReader(record.Value);
        byte version = reader.ReadByte();
        if (version != Version)
            throw new InvalidDataException($"User record '{name}' has version {version}; this build reads {Version}.");
        byte flags = reader.ReadByte();
        ScramSecret? secret = (flags & HasPassword) != 0 ? ScramSecret.Read(ref reader) : null;
        string[] groups = reader.ReadStrings();
        return reader.IsComplete
            ? new UserRecord(name, (flags & Disabled) != 0, secret, groups)
            : throw new InvalidDataException($"User record '{name}' does not fit its {record.Value.Length} bytes.");
    }
}
