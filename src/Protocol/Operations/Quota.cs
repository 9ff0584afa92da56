using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Of whom a quota is.</summary>
public enum QuotaKind : byte
{
    /// <summary>All connections with one client name.</summary>
    Client = 1,

    /// <summary>All who send to a topic or read it.</summary>
    Topic = 2,
}

/// <summary>How fast a client may go; docs/quotas.md says what is counted and what waits.</summary>
/// <param name="Kind">Of whom.</param>
/// <param name="Name">The client name or the topic; <see cref="Everybody"/> = each that has none of its own.</param>
/// <param name="ProduceBytes">Bytes sent per second; 0 = no bound.</param>
/// <param name="FetchBytes">Bytes of entries given per second; 0 = no bound.</param>
/// <param name="Requests">Requests per second; 0 = no bound.</param>
public sealed record Quota(QuotaKind Kind, string Name, long ProduceBytes, long FetchBytes, long Requests)
    : IPayload<Quota>
{
    /// <summary>The name of the quota that each client, or topic, without one of its own has.</summary>
    public const string Everybody = "*";

    internal const int MinSize = 1 + 2 + (3 * 8);

    /// <summary>Whether it bounds nothing.</summary>
    public bool IsEmpty => ProduceBytes == 0 && FetchBytes == 0 && Requests == 0;

    /// <inheritdoc/>
    public static Quota Read(ref PayloadReader reader) => new(
        (QuotaKind)reader.ReadByte(),
        reader.ReadString(),
        reader.ReadInt64(),
        reader.ReadInt64(),
        reader.ReadInt64());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteByte((byte)Kind);
        writer.WriteString(Name);
        writer.WriteInt64(ProduceBytes);
        writer.WriteInt64(FetchBytes);
        writer.WriteInt64(Requests);
    }
}
