namespace EQueue.Protocol;

/// <summary>Joins a group, stays in it and learns which queues to read: the one call of membership.</summary>
/// <remarks>
/// The broker may hold the call for as long as <see cref="MaxWait"/> until it has news. Errors of a join: InvalidName,
/// InvalidArgument, TagsDiffer, GroupKindDiffers, LimitReached; of a heartbeat: UnknownMember (join again with
/// generation 0), FencedGeneration (a later call of the member came first: nothing changed), MemberReplaced.
/// </remarks>
public sealed record GroupHeartbeatRequest : IRequest<GroupHeartbeatRequest, GroupHeartbeatResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.GroupHeartbeat;

    /// <summary>The group (see <see cref="NameRules"/>).</summary>
    public string Group { get; init; } = "";

    /// <summary>The member, chosen by the client: a UUID of its own.</summary>
    public Guid Member { get; init; }

    /// <summary>Rises with each call of the member.</summary>
    public uint Sequence { get; init; }

    /// <summary>0 joins; else the generation of the last answer that the member has applied.</summary>
    public GroupGeneration Generation { get; init; }

    /// <summary>A name that outlives the process (static membership); null = none.</summary>
    public string? InstanceId { get; init; }

    /// <summary>Without a call for this long the member is out; 0 = the broker's own.</summary>
    public TimeSpan SessionTimeout { get; init; }

    /// <summary>How long the member may take to give up a queue; 0 = the broker's own.</summary>
    public TimeSpan ReleaseTimeout { get; init; }

    /// <summary>How long the broker may hold the call while there is no news; 0 answers at once.</summary>
    public TimeSpan MaxWait { get; init; }

    /// <summary>Whether every member reads everything, with offsets of its own.</summary>
    public bool IsBroadcast { get; init; }

    /// <summary>What the member wants; null = as before.</summary>
    public IReadOnlyList<TopicSubscription>? Subscriptions { get; init; }

    /// <summary>The queues it has; one that is missing is released. Null = as in the last call.</summary>
    public IReadOnlyList<OwnedQueue>? Owned { get; init; }

    /// <inheritdoc/>
    public static GroupHeartbeatRequest Read(ref PayloadReader reader) => new()
    {
        Group = reader.ReadString(),
        Member = reader.ReadGuid(),
        Sequence = reader.ReadUInt32(),
        Generation = new GroupGeneration(reader.ReadInt64()),
        InstanceId = reader.ReadNullableString(),
        SessionTimeout = reader.ReadMilliseconds(),
        ReleaseTimeout = reader.ReadMilliseconds(),
        MaxWait = reader.ReadMilliseconds(),
        IsBroadcast = reader.ReadBool(),
        Subscriptions = reader.ReadNullableList<TopicSubscription>(TopicSubscription.MinSize),
        Owned = reader.ReadNullableList<OwnedQueue>(OwnedQueue.Size),
    };

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Group);
        writer.WriteGuid(Member);
        writer.WriteUInt32(Sequence);
        writer.WriteInt64(Generation.Value);
        writer.WriteString(InstanceId);
        writer.WriteMilliseconds(SessionTimeout);
        writer.WriteMilliseconds(ReleaseTimeout);
        writer.WriteMilliseconds(MaxWait);
        writer.WriteBool(IsBroadcast);
        writer.WriteNullableList(Subscriptions);
        writer.WriteNullableList(Owned);
    }
}

/// <summary>A queue that a member has.</summary>
/// <param name="Queue">Which queue.</param>
/// <param name="Grant">The generation in which it was given.</param>
public readonly record struct OwnedQueue(QueueKey Queue, GroupGeneration Grant) : IPayload<OwnedQueue>
{
    internal const int Size = QueueKey.Size + 8;

    /// <inheritdoc/>
    public static OwnedQueue Read(ref PayloadReader reader) =>
        new(QueueKey.Read(ref reader), new GroupGeneration(reader.ReadInt64()));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        Queue.Write(writer);
        writer.WriteInt64(Grant.Value);
    }
}

/// <summary>Where the member stands.</summary>
public sealed record GroupHeartbeatResponse : IPayload<GroupHeartbeatResponse>
{
    /// <summary>Of this answer; to be named in the next heartbeat once it is applied.</summary>
    public GroupGeneration Generation { get; init; }

    /// <summary>When to call again; 0 = at once.</summary>
    public TimeSpan NextHeartbeat { get; init; }

    /// <summary>The session timeout that holds.</summary>
    public TimeSpan SessionTimeout { get; init; }

    /// <summary>How long the member stays without a connection; -1 ms = for its session timeout (static).</summary>
    public TimeSpan ReconnectGrace { get; init; }

    /// <summary>Queues that shall be the member's and are not yet.</summary>
    public uint Pending { get; init; }

    /// <summary>The queues to read, whole; null = as before.</summary>
    public IReadOnlyList<AssignedTopic>? Assignment { get; init; }

    /// <inheritdoc/>
    public static GroupHeartbeatResponse Read(ref PayloadReader reader) => new()
    {
        Generation = new GroupGeneration(reader.ReadInt64()),
        NextHeartbeat = reader.ReadMilliseconds(),
        SessionTimeout = reader.ReadMilliseconds(),
        ReconnectGrace = reader.ReadMilliseconds(),
        Pending = reader.ReadUInt32(),
        Assignment = reader.ReadNullableList<AssignedTopic>(AssignedTopic.MinSize),
    };

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteInt64(Generation.Value);
        writer.WriteMilliseconds(NextHeartbeat);
        writer.WriteMilliseconds(SessionTimeout);
        writer.WriteMilliseconds(ReconnectGrace);
        writer.WriteUInt32(Pending);
        writer.WriteNullableList(Assignment);
    }
}

/// <summary>The queues of one topic that are given to a member, by number.</summary>
public sealed record AssignedTopic(string Topic, IReadOnlyList<AssignedQueue> Queues) : IPayload<AssignedTopic>
{
    internal const int MinSize = 2 + 4;

    /// <inheritdoc/>
    public static AssignedTopic Read(ref PayloadReader reader) =>
        new(reader.ReadString(), reader.ReadList<AssignedQueue>(AssignedQueue.Size));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Topic);
        writer.WriteList(Queues);
    }
}

/// <summary>A queue given to a member.</summary>
/// <param name="Number">Its number in the topic.</param>
/// <param name="Queue">Which queue.</param>
/// <param name="Grant">The generation in which it was given: to be named in commits.</param>
public readonly record struct AssignedQueue(int Number, QueueKey Queue, GroupGeneration Grant)
    : IPayload<AssignedQueue>
{
    internal const int Size = 4 + QueueKey.Size + 8;

    /// <inheritdoc/>
    public static AssignedQueue Read(ref PayloadReader reader) =>
        new(reader.ReadInt32(), QueueKey.Read(ref reader), new GroupGeneration(reader.ReadInt64()));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteInt32(Number);
        Queue.Write(writer);
        writer.WriteInt64(Grant.Value);
    }
}
