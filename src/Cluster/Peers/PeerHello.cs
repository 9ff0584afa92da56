using EQueue.Protocol;

namespace EQueue.Cluster;

/// <summary>How a node's connection to another one begins.</summary>
/// <param name="Cluster">The cluster's id, out of etcd.</param>
/// <param name="Shard">The shard that is spoken of.</param>
/// <param name="Node">Who speaks.</param>
/// <param name="To">Whom it takes the other one for.</param>
/// <param name="Nonce">16 random bytes, which the other one signs.</param>
internal sealed record PeerHello(Guid Cluster, int Shard, string Node, string To, Guid Nonce) : IPayload<PeerHello>
{
    /// <summary>"EQUP" read as a little-endian u32.</summary>
    private const uint Magic = 0x5055_5145;

    public static PeerHello Read(ref PayloadReader reader)
    {
        if (reader.ReadUInt32() != Magic)
            reader.Fail();
        var hello = new PeerHello(
            reader.ReadGuid(), reader.ReadInt32(), reader.ReadString(), reader.ReadString(), reader.ReadGuid());
        if (!ClusterOptions.IsName(hello.Node) || !ClusterOptions.IsName(hello.To))
            reader.Fail();
        return hello;
    }

    public void Write(PayloadWriter writer)
    {
        writer.WriteUInt32(Magic);
        writer.WriteGuid(Cluster);
        writer.WriteInt32(Shard);
        writer.WriteString(Node);
        writer.WriteString(To);
        writer.WriteGuid(Nonce);
    }
}

/// <summary>The answer to <see cref="PeerHello"/>.</summary>
/// <param name="Nonce">16 random bytes, to be signed.</param>
/// <param name="Proof">The asker's number signed.</param>
internal sealed record PeerChallenge(Guid Nonce, ReadOnlyMemory<byte> Proof) : IPayload<PeerChallenge>
{
    public static PeerChallenge Read(ref PayloadReader reader) =>
        new(reader.ReadGuid(), reader.ReadBytes(out _).ToArray());

    public void Write(PayloadWriter writer)
    {
        writer.WriteGuid(Nonce);
        writer.WriteBytes(Proof.Span);
    }
}

/// <summary>The asker's proof; the answer to it has no body.</summary>
/// <param name="Proof">The challenge signed.</param>
internal sealed record PeerProof(ReadOnlyMemory<byte> Proof) : IPayload<PeerProof>
{
    public static PeerProof Read(ref PayloadReader reader) => new(reader.ReadBytes(out _).ToArray());

    public void Write(PayloadWriter writer) => writer.WriteBytes(Proof.Span);
}
