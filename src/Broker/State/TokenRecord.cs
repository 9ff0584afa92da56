using System.Buffers;
using System.Buffers.Text;
using System.Security.Cryptography;
using System.Text;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>A token as the log's state holds it: its hash, not the token.</summary>
/// <remarks>
/// State record of kind <see cref="Kind"/>; key = the id in UTF-8; value, little-endian:
/// <code>
/// at  size  field
///  0   1    version of this layout: 0
///  1   32   SHA-256 of the secret's characters
/// 33   8    when it was made, i64 Unix milliseconds
/// 41   8    when it ends, i64 Unix milliseconds; 0 = never
/// 49   ...  user and note, strings (u16 size, UTF-8)
/// </code>
/// <see cref="TokenText"/> says how a token is written. Its secret has 256 random bits, so a fast hash keeps it.
/// </remarks>
internal sealed record TokenRecord(
    string Id, ReadOnlyMemory<byte> Hash, string User, long CreatedMs, long ExpiresMs, string Note)
{
    public const byte Kind = 70;

    private const byte Version = 0;
    private const int HashSize = 32;

    /// <summary>Makes a token.</summary>
    /// <returns>The record, and the token itself, which is not kept.</returns>
    public static (TokenRecord Record, string Token) Create(string user, long createdMs, long expiresMs, string note)
    {
        string id = Base64Url.EncodeToString(RandomNumberGenerator.GetBytes(TokenText.IdBytes));
        string secret = Base64Url.EncodeToString(RandomNumberGenerator.GetBytes(TokenText.SecretBytes));
        return (new TokenRecord(id, HashOf(secret), user, createdMs, expiresMs, note), TokenText.Of(id, secret));
    }

    /// <summary>Whether the secret is this token's; takes the same time for each.</summary>
    public bool Fits(string secret) => CryptographicOperations.FixedTimeEquals(HashOf(secret), Hash.Span);

    public bool IsExpired(long nowMs) => ExpiresMs != 0 && ExpiresMs <= nowMs;

    public TokenListing ToListing() => new(Id, User, CreatedMs, ExpiresMs, Note);

    public StateEntry ToEntry()
    {
        var value = new ArrayBufferWriter<byte>(128);
        var writer = new PayloadWriter(value);
        writer.WriteByte(Version);
        writer.WriteRaw(Hash.Span);
        writer.WriteInt64(CreatedMs);
        writer.WriteInt64(ExpiresMs);
        writer.WriteString(User);
        writer.WriteString(Note);
        return new StateEntry(Kind, Encoding.UTF8.GetBytes(Id), value.WrittenMemory);
    }

    public static StateEntry Removal(string id) => StateEntry.Removal(Kind, Encoding.UTF8.GetBytes(id));

    public static string ReadKey(in StateRecord record) => Encoding.UTF8.GetString(record.Key);

    /// <exception cref="InvalidDataException">The record is not one that this version wrote.</exception>
    public static TokenRecord Read(in StateRecord record)
    {
        string id = ReadKey(record);
        var reader = new PayloadReader(record.Value);
        byte version = reader.ReadByte();
        if (version != Version)
            throw new InvalidDataException($"Token record '{id}' has version {version}; this build reads {Version}.");
        byte[] hash = reader.ReadRaw(HashSize).ToArray();
        long createdMs = reader.ReadInt64();
        long expiresMs = reader.ReadInt64();
        var token = new TokenRecord(id, hash, reader.ReadString(), createdMs, expiresMs, reader.ReadString());
        return reader.IsComplete
            ? token
            : throw new InvalidDataException($"Token record '{id}' does not fit its {record.Value.Length} bytes.");
    }

    private static byte[] HashOf(string secret) => SHA256.HashData(Encoding.UTF8.GetBytes(secret));
}
