namespace EQueue.Protocol;

/// <summary>The first request of every connection.</summary>
public sealed record HelloRequest : IRequest<HelloRequest, HelloResponse>
{
    /// <summary>"EQUE" read as a little-endian u32.</summary>
    public const uint Magic = 0x4555_5145;

    /// <summary>The protocol version of this build.</summary>
    public const ushort ProtocolVersion = 1;

    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.Hello;

    /// <summary>Lowest protocol version the client speaks.</summary>
    public ushort MinVersion { get; init; } = ProtocolVersion;

    /// <summary>Highest protocol version the client speaks.</summary>
    public ushort MaxVersion { get; init; } = ProtocolVersion;

    /// <summary>Bits of optional features the client can use (<see cref="HelloFeatures"/>).</summary>
    public ulong Features { get; init; }

    /// <summary>The client process or object: the same over all its connections.</summary>
    public Guid ClientInstanceId { get; init; }

    /// <summary>What people call the client.</summary>
    public string ClientName { get; init; } = "";

    /// <summary>The client library and its version.</summary>
    public string ClientVersion { get; init; } = "";

    /// <summary>Whose topics are meant; "" is the only tenant today.</summary>
    public string Tenant { get; init; } = "";

    /// <summary>How the client proves who it is; "" does not.</summary>
    public string Mechanism { get; init; } = "";

    /// <summary>What the mechanism wants.</summary>
    public ReadOnlyMemory<byte> Credentials { get; init; }

    /// <summary>Longest frame the client takes, in bytes.</summary>
    public uint MaxFrameBytes { get; init; }

    /// <inheritdoc/>
    public static HelloRequest Read(ref PayloadReader reader)
    {
        if (reader.ReadUInt32() != Magic)
            reader.Fail();
        return new HelloRequest
        {
            MinVersion = reader.ReadUInt16(),
            MaxVersion = reader.ReadUInt16(),
            Features = reader.ReadUInt64(),
            ClientInstanceId = reader.ReadGuid(),
            ClientName = reader.ReadString(),
            ClientVersion = reader.ReadString(),
            Tenant = reader.ReadString(),
            Mechanism = reader.ReadString(),
            Credentials = reader.ReadBytes(out _).ToArray(),
            MaxFrameBytes = reader.ReadUInt32(),
        };
    }

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteUInt32(Magic);
        writer.WriteUInt16(MinVersion);
        writer.WriteUInt16(MaxVersion);
        writer.WriteUInt64(Features);
        writer.WriteGuid(ClientInstanceId);
        writer.WriteString(ClientName);
        writer.WriteString(ClientVersion);
        writer.WriteString(Tenant);
        writer.WriteString(Mechanism);
        writer.WriteBytes(Credentials.Span);
        writer.WriteUInt32(MaxFrameBytes);
    }
}

/// <summary>What the broker is and allows.</summary>
public sealed record HelloResponse : IPayload<HelloResponse>
{
    /// <summary>The protocol version both will speak.</summary>
    public ushort Version { get; init; }

    /// <summary>Bits of optional features the broker has (<see cref="HelloFeatures"/>).</summary>
    public ulong Features { get; init; }

    /// <summary>The versions of each operation the broker speaks.</summary>
    public IReadOnlyList<OperationVersion> Operations { get; init; } = [];

    /// <summary>The data directory, which keeps this id: queue ids have a meaning only within it.</summary>
    public Guid StoreId { get; init; }

    /// <summary>The broker, which keeps this id.</summary>
    public Guid BrokerId { get; init; }

    /// <summary>Rises at each start of the broker; of a node of a cluster, the epoch that it leads.</summary>
    public ulong Incarnation { get; init; }

    /// <summary>The broker's software and version.</summary>
    public string BrokerVersion { get; init; } = "";

    /// <summary>Longest frame the broker takes, in bytes.</summary>
    public uint MaxFrameBytes { get; init; }

    /// <summary>Largest message body, in bytes.</summary>
    public uint MaxMessageBytes { get; init; }

    /// <summary>Largest batch, header included, in bytes.</summary>
    public uint MaxBatchBytes { get; init; }

    /// <summary>Batches per producer and queue that may be sent before the first of them is answered.</summary>
    public ushort SequenceWindow { get; init; }

    /// <summary>The broker's clock, Unix milliseconds.</summary>
    public long ServerTimeMs { get; init; }

    /// <inheritdoc/>
    public static HelloResponse Read(ref PayloadReader reader) => new()
    {
        Version = reader.ReadUInt16(),
        Features = reader.ReadUInt64(),
        Operations = reader.ReadList<OperationVersion>(3),
        StoreId = reader.ReadGuid(),
        BrokerId = reader.ReadGuid(),
        Incarnation = reader.ReadUInt64(),
        BrokerVersion = reader.ReadString(),
        MaxFrameBytes = reader.ReadUInt32(),
        MaxMessageBytes = reader.ReadUInt32(),
        MaxBatchBytes = reader.ReadUInt32(),
        SequenceWindow = reader.ReadUInt16(),
        ServerTimeMs = reader.ReadInt64(),
    };

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteUInt16(Version);
        writer.WriteUInt64(Features);
        writer.WriteList(Operations);
        writer.WriteGuid(StoreId);
        writer.WriteGuid(BrokerId);
        writer.WriteUInt64(Incarnation);
        writer.WriteString(BrokerVersion);
        writer.WriteUInt32(MaxFrameBytes);
        writer.WriteUInt32(MaxMessageBytes);
        writer.WriteUInt32(MaxBatchBytes);
        writer.WriteUInt16(SequenceWindow);
        writer.WriteInt64(ServerTimeMs);
    }
}

/// <summary>The answer to a Hello of version 1: that of version 0, then the mechanism's part.</summary>
/// <param name="Hello">As in version 0. While <see cref="IsDone"/> is false its limits count, nothing else.</param>
/// <param name="IsDone">Whether the peer is admitted. If not, the mechanism has another step: the client sends another
/// Hello with its answer to <see cref="Challenge"/>.</param>
/// <param name="Challenge">The mechanism's message of the server; empty if it has none.</param>
/// <param name="Principal">Who the broker takes the peer for, as its rules name it; "" before it is done.</param>
public sealed record AuthenticatedHello(
    HelloResponse Hello, bool IsDone, ReadOnlyMemory<byte> Challenge, string Principal) : IPayload<AuthenticatedHello>
{
    /// <inheritdoc/>
    public static AuthenticatedHello Read(ref PayloadReader reader) => new(
        HelloResponse.Read(ref reader),
        reader.ReadBool(),
        reader.ReadBytes(out _).ToArray(),
        reader.ReadString());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Hello.Write(writer);
        writer.WriteBool(IsDone);
        writer.WriteBytes(Challenge.Span);
        writer.WriteString(Principal);
    }
}
