namespace EQueue.Protocol;

/// <summary>Asks where the queues of topics are.</summary>
/// <param name="Topics">Names; unknown ones are made when <paramref name="AutoCreate"/> and the broker allow
/// it.</param>
/// <param name="AutoCreate">Whether the asker wants missing topics made.</param>
public sealed record RouteRequest(IReadOnlyList<string> Topics, bool AutoCreate) : IRequest<RouteRequest, RouteResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.Route;

    /// <inheritdoc/>
    public static RouteRequest Read(ref PayloadReader reader) => new(reader.ReadStrings(), reader.ReadBool());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteStrings(Topics);
        writer.WriteBool(AutoCreate);
    }
}

/// <summary>Brokers, and which of them holds which queue.</summary>
/// <param name="Brokers">Every broker that <paramref name="Topics"/> names by its index here.</param>
/// <param name="Topics">In the order asked for.</param>
public sealed record RouteResponse(IReadOnlyList<BrokerAddress> Brokers, IReadOnlyList<TopicRoute> Topics)
    : IPayload<RouteResponse>
{
    /// <inheritdoc/>
    public static RouteResponse Read(ref PayloadReader reader) => new(
        reader.ReadList<BrokerAddress>(BrokerAddress.MinSize),
        reader.ReadList<TopicRoute>(TopicRoute.MinSize));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteList(Brokers);
        writer.WriteList(Topics);
    }
}

/// <summary>Where a broker listens.</summary>
/// <param name="BrokerId">The broker, which keeps this id.</param>
/// <param name="Host">Name or address; "" = the address this answer came from.</param>
/// <param name="Port">TCP port; 0 = the port this answer came from.</param>
public sealed record BrokerAddress(Guid BrokerId, string Host, ushort Port) : IPayload<BrokerAddress>
{
    internal const int MinSize = 16 + 2 + 2;

    /// <inheritdoc/>
    public static BrokerAddress Read(ref PayloadReader reader) =>
        new(reader.ReadGuid(), reader.ReadString(), reader.ReadUInt16());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteGuid(BrokerId);
        writer.WriteString(Host);
        writer.WriteUInt16(Port);
    }
}

/// <summary>The queues of one topic.</summary>
/// <param name="Error">UnknownTopic or InvalidName; then the rest is empty.</param>
/// <param name="Topic">Its name as asked for.</param>
/// <param name="Id">Its id.</param>
/// <param name="MaxMessageBytes">Largest body the topic takes, in bytes.</param>
/// <param name="Queues">By broker, then number.</param>
public sealed record TopicRoute(
    ErrorCode Error,
    string Topic,
    TopicId Id,
    uint MaxMessageBytes,
    IReadOnlyList<QueueRoute> Queues) : IPayload<TopicRoute>
{
    internal const int MinSize = 2 + 2 + TopicId.Size + 4 + 4;

    /// <inheritdoc/>
    public static TopicRoute Read(ref PayloadReader reader) => new(
        (ErrorCode)reader.ReadUInt16(),
        reader.ReadString(),
        new TopicId(reader.ReadGuid()),
        reader.ReadUInt32(),
        reader.ReadList<QueueRoute>(QueueRoute.Size));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteUInt16((ushort)Error);
        writer.WriteString(Topic);
        writer.WriteGuid(Id.Value);
        writer.WriteUInt32(MaxMessageBytes);
        writer.WriteList(Queues);
    }
}

/// <summary>Where one queue is.</summary>
/// <param name="Number">Its number in the topic on that broker.</param>
/// <param name="Log">The log it lives in.</param>
/// <param name="State">Whether it may be written and read.</param>
/// <param name="Id">Its id in that log.</param>
/// <param name="Epoch">The log's epoch now.</param>
/// <param name="BrokerIndex">Index into <see cref="RouteResponse.Brokers"/>.</param>
public sealed record QueueRoute(int Number, ushort Log, QueueState State, QueueId Id, int Epoch, ushort BrokerIndex)
    : IPayload<QueueRoute>
{
    internal const int Size = 4 + 2 + 2 + 4 + 4 + 2;

    /// <inheritdoc/>
    public static QueueRoute Read(ref PayloadReader reader) => new(
        reader.ReadInt32(),
        reader.ReadUInt16(),
        (QueueState)reader.ReadUInt16(),
        new QueueId(reader.ReadUInt32()),
        reader.ReadInt32(),
        reader.ReadUInt16());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteInt32(Number);
        writer.WriteUInt16(Log);
        writer.WriteUInt16((ushort)State);
        writer.WriteUInt32(Id.Value);
        writer.WriteInt32(Epoch);
        writer.WriteUInt16(BrokerIndex);
    }
}
