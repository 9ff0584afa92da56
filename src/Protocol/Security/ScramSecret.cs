using System.Security.Cryptography;
using System.Text;

namespace EQueue.Protocol;

/// <summary>What a broker keeps of a password: RFC 5802, section 3. The password cannot be had from it; who has it can
/// guess offline, and can play the server to the user.</summary>
/// <param name="Salt">Random, <see cref="SaltSize"/> bytes.</param>
/// <param name="Iterations">Of PBKDF2 with HMAC-SHA-256, <see cref="MinIterations"/> to
/// <see cref="MaxIterations"/>.</param>
/// <param name="StoredKey">SHA-256 of the client's key, <see cref="KeySize"/> bytes.</param>
/// <param name="ServerKey">The server's key, <see cref="KeySize"/> bytes.</param>
public sealed record ScramSecret(
    ReadOnlyMemory<byte> Salt, int Iterations, ReadOnlyMemory<byte> StoredKey, ReadOnlyMemory<byte> ServerKey)
    : IPayload<ScramSecret>
{
    /// <summary>Bytes of a salt: all have as many, so that a <see cref="Mock"/> is like them.</summary>
    public const int SaltSize = 16;

    /// <summary>Bytes of each key.</summary>
    public const int KeySize = SHA256.HashSizeInBytes;

    /// <summary>Fewest iterations: RFC 7677, section 4.</summary>
    public const int MinIterations = 4_096;

    /// <summary>Most iterations: a client's processor works for them half a second or so.</summary>
    public const int MaxIterations = 1_000_000;

    /// <summary>Iterations of a new secret.</summary>
    public const int DefaultIterations = 16_384;

    /// <summary>Longest message of an exchange, in bytes.</summary>
    public const int MaxMessageBytes = 4_096;

    /// <summary>Whether sizes and iterations are within their bounds: to be asked of a secret that a peer
    /// sent.</summary>
    public bool IsValid =>
        Salt.Length == SaltSize && Iterations is >= MinIterations and <= MaxIterations
        && StoredKey.Length == KeySize && ServerKey.Length == KeySize;

    /// <summary>The secret of a password with a new salt.</summary>
    /// <param name="password">See <see cref="SaslPrep"/> for which it may be.</param>
    /// <param name="iterations"><see cref="MinIterations"/> to <see cref="MaxIterations"/>.</param>
    /// <exception cref="ArgumentException">The password or the iterations cannot be used.</exception>
    public static ScramSecret Create(string password, int iterations = DefaultIterations) =>
        Derive(password, RandomNumberGenerator.GetBytes(SaltSize), iterations);

    /// <summary>The secret of a password with a salt: the same three give the same secret.</summary>
    /// <inheritdoc cref="Create"/>
    /// <param name="salt">One byte or more; <see cref="SaltSize"/> for one that a broker is to keep.</param>
#pragma warning disable CS1573 // The other two are inherited.
    public static ScramSecret Derive(string password, ReadOnlySpan<byte> salt, int iterations)
#pragma warning restore CS1573
    {
        ArgumentOutOfRangeException.ThrowIfZero(salt.Length, nameof(salt));
        ArgumentOutOfRangeException.ThrowIfLessThan(iterations, MinIterations);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(iterations, MaxIterations);
        byte[] salted = ScramKeys.Salt(SaslPrep.Prepare(password, nameof(password)), salt, iterations);
        byte[] clientKey = ScramKeys.ClientKey(salted);
        var secret = new ScramSecret(
            salt.ToArray(), iterations, SHA256.HashData(clientKey), ScramKeys.ServerKey(salted));
        CryptographicOperations.ZeroMemory(salted);
        CryptographicOperations.ZeroMemory(clientKey);
        return secret;
    }

    /// <summary>The secret of a user who does not exist or has no password: the same for the same name, like a real one
    /// to who sees it, and no password has it.</summary>
    /// <param name="key">The broker's own secret, 16 random bytes or more, the same over its restarts.</param>
    /// <param name="user">The name that was asked for; any text.</param>
    /// <param name="iterations">Those that real users have.</param>
    public static ScramSecret Mock(ReadOnlySpan<byte> key, string user, int iterations)
    {
        ArgumentNullException.ThrowIfNull(user);
        byte[] name = Encoding.UTF8.GetBytes(user);
        byte[] salt = HMACSHA256.HashData(key, name);

        // Nothing has these as its keys: the salt's key with another text behind a byte that no name has.
        return new ScramSecret(
            salt.AsMemory(0, SaltSize),
            iterations,
            HMACSHA256.HashData(key, [.. name, 0, .. "stored"u8]),
            HMACSHA256.HashData(key, [.. name, 0, .. "server"u8]));
    }

    /// <inheritdoc/>
    public static ScramSecret Read(ref PayloadReader reader) => new(
        reader.ReadBytes(out _).ToArray(),
        reader.ReadInt32(),
        reader.ReadBytes(out _).ToArray(),
        reader.ReadBytes(out _).ToArray());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteBytes(Salt.Span);
        writer.WriteInt32(Iterations);
        writer.WriteBytes(StoredKey.Span);
        writer.WriteBytes(ServerKey.Span);
    }

    /// <summary>Whether it is byte for byte the same.</summary>
    public bool Equals(ScramSecret? other) =>
        other is not null
        && Iterations == other.Iterations
        && Salt.Span.SequenceEqual(other.Salt.Span)
        && CryptographicOperations.FixedTimeEquals(StoredKey.Span, other.StoredKey.Span)
        && CryptographicOperations.FixedTimeEquals(ServerKey.Span, other.ServerKey.Span);

    /// <inheritdoc/>
    public override int GetHashCode()
    {
        var hash = new HashCode();
        hash.AddBytes(Salt.Span);
        hash.Add(Iterations);
        return hash.ToHashCode();
    }

    /// <summary>Its iterations, and nothing that helps to guess.</summary>
    public override string ToString() => $"SCRAM-SHA-256 secret of {Iterations} iterations";
}
