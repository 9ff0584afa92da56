namespace EQueue.Protocol;

/// <summary>Joins a group, stays in it and learns which queues to read: the one call of membership.</summary>
/// <remarks>Errors: InvalidName, UnknownTopic, GroupBusy, UnknownMember (join again with generation 0),
/// FencedGeneration, InvalidArgument.</remarks>
public sealed record GroupHeartbeatRequest : IRequest<GroupHeartbeatRequest, GroupHeartbeatResponse>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.GroupHeartbeat;

    /// <summary>The group (see <see cref="NameRules"/>).</summary>
    public string Group { get; init; } = "";

    /// <summary>The member, chosen by the client: a UUID of its own.</summary>
    public Guid Member { get; init; }

    /// <summary>0 joins; else the generation of the last answer.</summary>
    public int Generation { get; init; }

    /// <summary>A name that outlives the process (static membership); null = none.</summary>
    public string? InstanceId { get; init; }

    /// <summary>Without a heartbeat for this long the member is out.</summary>
    public TimeSpan SessionTimeout { get; init; }

    /// <summary>How long the member may take to give up a queue.</summary>
    public TimeSpan ReleaseTimeout { get; init; }

    /// <summary>Whether every member reads everything, with offsets of its own.</summary>
    public bool IsBroadcast { get; init; }

    /// <summary>What the member wants; null = as before.</summary>
    public IReadOnlyList<TopicSubscription>? Subscriptions { get; init; }

    /// <summary>The queues it reads now; null = as before.</summary>
    public IReadOnlyList<FetchQueueKey>? Owned { get; init; }

    /// <inheritdoc/>
    public static GroupHeartbeatRequest Read(ref PayloadReader reader) => new()
    {
        Group = reader.ReadString(),
        Member = reader.ReadGuid(),
        Generation = reader.ReadInt32(),
        InstanceId = reader.ReadNullableString(),
        SessionTimeout = reader.ReadMilliseconds(),
        ReleaseTimeout = reader.ReadMilliseconds(),
        IsBroadcast = reader.ReadBool(),
        Subscriptions = ReadNullable<TopicSubscription>(ref reader, TopicSubscription.MinSize),
        Owned = ReadNullable<FetchQueueKey>(ref reader, FetchQueueKey.Size),
    };

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Group);
        writer.WriteGuid(Member);
        writer.WriteInt32(Generation);
        writer.WriteString(InstanceId);
        writer.WriteMilliseconds(SessionTimeout);
        writer.WriteMilliseconds(ReleaseTimeout);
        writer.WriteBool(IsBroadcast);
        WriteNullable(writer, Subscriptions);
        WriteNullable(writer, Owned);
    }

    internal static T[]? ReadNullable<T>(ref PayloadReader reader, int minItemSize)
        where T : IPayload<T>
    {
        if (reader.ReadNullableCount(minItemSize) is not { } count)
            return null;
        var items = new T[count];
        for (var i = 0; i < items.Length && !reader.Failed; i++)
            items[i] = T.Read(ref reader);
        return items;
    }

    internal static void WriteNullable<T>(PayloadWriter writer, IReadOnlyList<T>? items)
        where T : IPayload<T>
    {
        if (items is null)
            writer.WriteNull();
        else
            writer.WriteList(items);
    }
}

/// <summary>A topic that a member reads, and which of its messages.</summary>
/// <param name="Topic">Its name.</param>
/// <param name="Tags">Tags wanted; empty = every message.</param>
public sealed record TopicSubscription(string Topic, IReadOnlyList<string> Tags) : IPayload<TopicSubscription>
{
    internal const int MinSize = 2 + 4;

    /// <inheritdoc/>
    public static TopicSubscription Read(ref PayloadReader reader)
    {
        var topic = reader.ReadString();
        var tags = new string[reader.ReadCount(2)];
        for (var i = 0; i < tags.Length; i++)
            tags[i] = reader.ReadString();
        return new TopicSubscription(topic, tags);
    }

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Topic);
        writer.WriteCount(Tags.Count);
        foreach (var tag in Tags)
            writer.WriteString(tag);
    }
}

/// <summary>Where the member stands.</summary>
/// <param name="Generation">To be named in commits and the next heartbeat.</param>
/// <param name="HeartbeatInterval">When to call again.</param>
/// <param name="Assignment">The queues to read, whole; null = as before.</param>
public sealed record GroupHeartbeatResponse(
    int Generation, TimeSpan HeartbeatInterval, IReadOnlyList<AssignedQueue>? Assignment)
    : IPayload<GroupHeartbeatResponse>
{
    /// <inheritdoc/>
    public static GroupHeartbeatResponse Read(ref PayloadReader reader) => new(
        reader.ReadInt32(),
        reader.ReadMilliseconds(),
        GroupHeartbeatRequest.ReadNullable<AssignedQueue>(ref reader, AssignedQueue.MinSize));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteInt32(Generation);
        writer.WriteMilliseconds(HeartbeatInterval);
        GroupHeartbeatRequest.WriteNullable(writer, Assignment);
    }
}

/// <summary>A queue given to a member.</summary>
public sealed record AssignedQueue(string Topic, int Number, FetchQueueKey Queue) : IPayload<AssignedQueue>
{
    internal const int MinSize = 2 + 4 + FetchQueueKey.Size;

    /// <inheritdoc/>
    public static AssignedQueue Read(ref PayloadReader reader) =>
        new(reader.ReadString(), reader.ReadInt32(), FetchQueueKey.Read(ref reader));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Topic);
        writer.WriteInt32(Number);
        Queue.Write(writer);
    }
}

/// <summary>Leaves a group at once.</summary>
/// <remarks>Errors: UnknownMember.</remarks>
public sealed record GroupLeaveRequest(string Group, Guid Member) : IRequest<GroupLeaveRequest, Done>
{
    /// <inheritdoc/>
    public static Opcode Opcode => Opcode.GroupLeave;

    /// <inheritdoc/>
    public static GroupLeaveRequest Read(ref PayloadReader reader) => new(reader.ReadString(), reader.ReadGuid());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Group);
        writer.WriteGuid(Member);
    }
}
