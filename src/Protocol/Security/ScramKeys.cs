using System.Security.Cryptography;
using System.Text;

namespace EQueue.Protocol;

/// <summary>The formulas of RFC 5802, section 3, with SHA-256.</summary>
internal static class ScramKeys
{
    /// <summary>SaltedPassword := Hi(Normalize(password), salt, i).</summary>
    public static byte[] Salt(string prepared, ReadOnlySpan<byte> salt, int iterations)
    {
        byte[] password = Encoding.UTF8.GetBytes(prepared);
        byte[] salted = Rfc2898DeriveBytes.Pbkdf2(
            password, salt, iterations, HashAlgorithmName.SHA256, ScramSecret.KeySize);
        CryptographicOperations.ZeroMemory(password);
        return salted;
    }

    /// <summary>ClientKey := HMAC(SaltedPassword, "Client Key").</summary>
    public static byte[] ClientKey(ReadOnlySpan<byte> salted) => HMACSHA256.HashData(salted, "Client Key"u8);

    /// <summary>ServerKey := HMAC(SaltedPassword, "Server Key").</summary>
    public static byte[] ServerKey(ReadOnlySpan<byte> salted) => HMACSHA256.HashData(salted, "Server Key"u8);

    /// <summary>HMAC(StoredKey or ServerKey, AuthMessage).</summary>
    public static byte[] Sign(ReadOnlySpan<byte> key, string message) =>
        HMACSHA256.HashData(key, Encoding.UTF8.GetBytes(message));

    /// <summary>ClientProof := ClientKey XOR ClientSignature, and back again. Changes <paramref name="key"/>.</summary>
    public static void Mix(Span<byte> key, ReadOnlySpan<byte> signature)
    {
        for (int i = 0; i < key.Length; i++)
            key[i] ^= signature[i];
    }

    /// <summary>A nonce that no other exchange has: 18 random bytes, 24 characters.</summary>
    public static string NewNonce() => Convert.ToBase64String(RandomNumberGenerator.GetBytes(18));
}
