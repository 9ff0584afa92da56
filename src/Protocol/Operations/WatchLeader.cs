namespace EQueue.Protocol;

/// <summary>Asks a node of a cluster which node leads: answered at once when the node knows a higher epoch than the
/// asker, else when that changes or the wait is over.</summary>
/// <param name="Epoch">The highest epoch that the asker knows; 0 = none.</param>
/// <param name="Wait">How long the node may hold the answer; a node cuts it to <see cref="MaxWait"/>.</param>
/// <remarks>
/// Nodes alone serve it, whether they lead or not, and without a login: it tells addresses only. It may be the first
/// request of a connection, which then takes nothing else.
/// Errors: UnknownOperation (the broker is no node of a cluster), HelloRequired (the same, on a connection without
/// Hello).
/// </remarks>
public sealed record WatchLeaderRequest(int Epoch, TimeSpan Wait) : IRequest<WatchLeaderRequest, WatchLeaderResponse>
{
    /// <summary>The longest wait.</summary>
    public static readonly TimeSpan MaxWait = TimeSpan.FromSeconds(10);

    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.WatchLeader;

    /// <inheritdoc/>
    public static WatchLeaderRequest Read(ref PayloadReader reader) =>
        new(reader.ReadInt32(), reader.ReadMilliseconds());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteInt32(Epoch);
        writer.WriteMilliseconds(Wait);
    }
}

/// <summary>Who leads, as the node knows it.</summary>
/// <param name="Epoch">The epoch; 0 = none is known.</param>
/// <param name="Leader">Where its leader listens, <c>host:port</c>; "" = no leader is known.</param>
/// <param name="Nodes">Where all nodes of the cluster listen.</param>
public sealed record WatchLeaderResponse(int Epoch, string Leader, IReadOnlyList<string> Nodes)
    : IPayload<WatchLeaderResponse>
{
    /// <inheritdoc/>
    public static WatchLeaderResponse Read(ref PayloadReader reader) =>
        new(reader.ReadInt32(), reader.ReadString(), reader.ReadStrings());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteInt32(Epoch);
        writer.WriteString(Leader);
        writer.WriteStrings(Nodes);
    }
}

/// <summary>The body of an answer whose frame carries <see cref="ErrorCode.NotLeader"/>: that of every error, then who
/// leads.</summary>
/// <param name="Detail">The facts in words.</param>
/// <param name="Leader">Who leads, as the node knows it.</param>
public sealed record NotLeaderDetail(ErrorDetail Detail, WatchLeaderResponse Leader) : IPayload<NotLeaderDetail>
{
    /// <inheritdoc/>
    public static NotLeaderDetail Read(ref PayloadReader reader) =>
        new(ErrorDetail.Read(ref reader), WatchLeaderResponse.Read(ref reader));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Detail.Write(writer);
        Leader.Write(writer);
    }
}
