using System.Security.Cryptography;
using System.Text;

namespace EQueue.Cluster;

/// <summary>Shows that a node knows the cluster's secret without telling it: HMAC-SHA-256 over who speaks to whom and
/// both sides' random numbers.</summary>
internal sealed class PeerSecret(string secret)
{
    private readonly byte[] _key = Encoding.UTF8.GetBytes(secret);

    /// <summary>Whether it proves anything: without one a node's processes are told by their user.</summary>
    public bool Exists => _key.Length > 0;

    /// <summary>The proof of the node that was called.</summary>
    public byte[] SignAnswer(PeerHello hello, Guid challenge) => Sign("called", hello, challenge);

    /// <summary>The proof of the node that called.</summary>
    public byte[] SignCall(PeerHello hello, Guid challenge) => Sign("calling", hello, challenge);

    /// <summary>Compares in a time that tells nothing.</summary>
    public static bool Equal(ReadOnlySpan<byte> one, ReadOnlySpan<byte> other) =>
        CryptographicOperations.FixedTimeEquals(one, other);

    private byte[] Sign(string side, PeerHello hello, Guid challenge)
    {
        string text = FormattableString.Invariant(
            $"""
            equeue-peer/1
            {side}
            {hello.Cluster:N} {hello.Shard}
            {hello.Node} {hello.To}
            {hello.Nonce:N} {challenge:N}
            """);
        return HMACSHA256.HashData(_key, Encoding.UTF8.GetBytes(text));
    }
}
