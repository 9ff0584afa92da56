using System.Collections.Concurrent;
using System.Security.Cryptography;
using System.Text;

namespace EQueue.Support.Logins;

/// <summary>One user's side of SCRAM-SHA-256 that works out the password once for each salt, so that a storm of logins
/// costs the one who makes it little.</summary>
public sealed class StormLogin(string user, string password)
{
    private readonly ConcurrentDictionary<string, (byte[] ClientKey, byte[] StoredKey)> _keys = new();

    /// <summary>A first message without its header, with a nonce of its own.</summary>
    public string NewFirst() => $"n={user},r={Convert.ToBase64String(RandomNumberGenerator.GetBytes(18))}";

    /// <summary>The last message.</summary>
    /// <param name="bareFirst">Of <see cref="NewFirst"/>.</param>
    /// <param name="serverFirst">What the broker answered to it.</param>
    public string Final(string bareFirst, string serverFirst)
    {
        string[] parts = serverFirst.Split(',');
        string withoutProof = $"c=biws,{parts[0]}";
        (byte[] clientKey, byte[] storedKey) = _keys.GetOrAdd($"{parts[1]},{parts[2]}", _ => Derive(parts[1], parts[2]));
        byte[] proof = HMACSHA256.HashData(
            storedKey, Encoding.UTF8.GetBytes($"{bareFirst},{serverFirst},{withoutProof}"));
        for (int i = 0; i < proof.Length; i++)
            proof[i] ^= clientKey[i];
        return $"{withoutProof},p={Convert.ToBase64String(proof)}";
    }

    private (byte[] ClientKey, byte[] StoredKey) Derive(string salt, string iterations)
    {
        byte[] salted = Rfc2898DeriveBytes.Pbkdf2(
            password, Convert.FromBase64String(salt[2..]), int.Parse(iterations[2..]), HashAlgorithmName.SHA256, 32);
        byte[] clientKey = HMACSHA256.HashData(salted, "Client Key"u8);
        return (clientKey, SHA256.HashData(clientKey));
    }
}
