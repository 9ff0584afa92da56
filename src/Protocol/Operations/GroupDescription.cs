using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>A group as it stands at one broker.</summary>
/// <param name="Kind">Shared or broadcast.</param>
/// <param name="State">Where it stands.</param>
/// <param name="Generation">The newest in which something changed in it.</param>
/// <param name="Members">Its members.</param>
/// <param name="Queues">The queues its members read or it has progress in, by topic and number.</param>
public sealed record GroupDescription(
    GroupKind Kind,
    GroupState State,
    GroupGeneration Generation,
    IReadOnlyList<MemberDescription> Members,
    IReadOnlyList<GroupQueueDescription> Queues)
    : IPayload<GroupDescription>
{
    /// <inheritdoc/>
    public static GroupDescription Read(ref PayloadReader reader) => new(
        (GroupKind)reader.ReadByte(),
        (GroupState)reader.ReadByte(),
        new GroupGeneration(reader.ReadInt64()),
        reader.ReadList<MemberDescription>(MemberDescription.MinSize),
        reader.ReadList<GroupQueueDescription>(GroupQueueDescription.MinSize));

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteByte((byte)Kind);
        writer.WriteByte((byte)State);
        writer.WriteInt64(Generation.Value);
        writer.WriteList(Members);
        writer.WriteList(Queues);
    }
}

/// <summary>A member of a group.</summary>
/// <param name="Member">Its id.</param>
/// <param name="InstanceId">Its name that outlives the process; null = none.</param>
/// <param name="Client">The client's name.</param>
/// <param name="Address">Where it calls from; "" = away.</param>
/// <param name="SessionTimeout">How long it may be silent.</param>
/// <param name="SinceLastCall">Time since its last call.</param>
/// <param name="Subscriptions">What it reads.</param>
/// <param name="OwnedCount">Queues that it has.</param>
/// <param name="PendingCount">Queues that it shall have and has not yet.</param>
public sealed record MemberDescription(
    Guid Member,
    string? InstanceId,
    string Client,
    string Address,
    TimeSpan SessionTimeout,
    TimeSpan SinceLastCall,
    IReadOnlyList<TopicSubscription> Subscriptions,
    uint OwnedCount,
    uint PendingCount)
    : IPayload<MemberDescription>
{
    internal const int MinSize = 16 + 2 + 2 + 2 + 4 + 4 + 4 + 4 + 4;

    /// <inheritdoc/>
    public static MemberDescription Read(ref PayloadReader reader) => new(
        reader.ReadGuid(),
        reader.ReadNullableString(),
        reader.ReadString(),
        reader.ReadString(),
        reader.ReadMilliseconds(),
        reader.ReadMilliseconds(),
        reader.ReadList<TopicSubscription>(TopicSubscription.MinSize),
        reader.ReadUInt32(),
        reader.ReadUInt32());

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteGuid(Member);
        writer.WriteString(InstanceId);
        writer.WriteString(Client);
        writer.WriteString(Address);
        writer.WriteMilliseconds(SessionTimeout);
        writer.WriteMilliseconds(SinceLastCall);
        writer.WriteList(Subscriptions);
        writer.WriteUInt32(OwnedCount);
        writer.WriteUInt32(PendingCount);
    }
}

/// <summary>A queue of a group: who has it, and how far it has come.</summary>
public sealed record GroupQueueDescription : IPayload<GroupQueueDescription>
{
    internal const int MinSize = 2 + 4 + QueueKey.Size + 4 + 4 + 2 + (6 * 8);

    /// <summary>The topic's name.</summary>
    public string Topic { get; init; } = "";

    /// <summary>The queue's number in the topic.</summary>
    public int Number { get; init; }

    /// <summary>Which queue.</summary>
    public QueueKey Queue { get; init; }

    /// <summary>Who has it: index into the members; -1 = none.</summary>
    public int Owner { get; init; } = -1;

    /// <summary>Who shall have it: index into the members; -1 = none.</summary>
    public int Target { get; init; } = -1;

    /// <summary>Whose progress this is, in a broadcast group; null in a shared one.</summary>
    public string? InstanceId { get; init; }

    /// <summary>The first message not processed; -1 = nothing committed.</summary>
    public QueueOffset Committed { get; init; } = new(-1);

    /// <summary>When that was committed, in Unix ms; -1 = nothing committed.</summary>
    public long CommittedMs { get; init; } = -1;

    /// <summary>The first message that the queue has.</summary>
    public QueueOffset Start { get; init; }

    /// <summary>The offset after the last visible message.</summary>
    public QueueOffset End { get; init; }

    /// <summary>Messages not committed, whatever their tags.</summary>
    public long Lag { get; init; }

    /// <summary>Age in ms of the first message not committed; 0 without lag, -1 = not asked or not known.</summary>
    public long LagMs { get; init; } = -1;

    /// <inheritdoc/>
    public static GroupQueueDescription Read(ref PayloadReader reader) => new()
    {
        Topic = reader.ReadString(),
        Number = reader.ReadInt32(),
        Queue = QueueKey.Read(ref reader),
        Owner = reader.ReadInt32(),
        Target = reader.ReadInt32(),
        InstanceId = reader.ReadNullableString(),
        Committed = new QueueOffset(reader.ReadInt64()),
        CommittedMs = reader.ReadInt64(),
        Start = new QueueOffset(reader.ReadInt64()),
        End = new QueueOffset(reader.ReadInt64()),
        Lag = reader.ReadInt64(),
        LagMs = reader.ReadInt64(),
    };

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteString(Topic);
        writer.WriteInt32(Number);
        Queue.Write(writer);
        writer.WriteInt32(Owner);
        writer.WriteInt32(Target);
        writer.WriteString(InstanceId);
        writer.WriteInt64(Committed.Value);
        writer.WriteInt64(CommittedMs);
        writer.WriteInt64(Start.Value);
        writer.WriteInt64(End.Value);
        writer.WriteInt64(Lag);
        writer.WriteInt64(LagMs);
    }
}
