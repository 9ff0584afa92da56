using System.Buffers.Binary;
using System.Security.Cryptography;
using System.Text;
using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Secrets of users who do not exist or have no password, like those of real users to a peer that asks for
/// their salts: the same for the same name, over restarts too, and with as many iterations as users have.</summary>
/// <remarks>Immutable; thread-safe. The time it takes does not depend on how many users there are.</remarks>
/// <param name="key">The broker's own secret, <see cref="MockKeyRecord.KeySize"/> bytes.</param>
internal sealed class MockSecrets(ReadOnlyMemory<byte> key)
{
    /// <summary>One with a key of its own.</summary>
    public static MockSecrets WithNewKey() => new(RandomNumberGenerator.GetBytes(MockKeyRecord.KeySize));

    public ReadOnlyMemory<byte> Key => key;

    /// <summary>The secret of a name.</summary>
    /// <param name="user">Any text.</param>
    /// <param name="iterations">Those of the users who have a password, each user's; empty: there is no such
    /// user.</param>
    public ScramSecret Of(string user, ReadOnlySpan<int> iterations)
    {
        // Where users have several numbers, names have them in the same proportion.
        byte[] draw = HMACSHA256.HashData(key.Span, [.. "iterations"u8, 0, .. Encoding.UTF8.GetBytes(user)]);
        ulong drawn = (BinaryPrimitives.ReadUInt32LittleEndian(draw) * (ulong)iterations.Length) >> 32;
        int own = iterations.IsEmpty
            ? ScramSecret.DefaultIterations
            : iterations[(int)drawn];

        // Another number comes with another salt, as it does when a user gets a new password.
        Span<byte> suffix = stackalloc byte[4];
        BinaryPrimitives.WriteInt32LittleEndian(suffix, own);
        return ScramSecret.Mock(HMACSHA256.HashData(key.Span, suffix), user, own);
    }
}
