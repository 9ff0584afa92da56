using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>What happens when a topic's backlog bound is reached.</summary>
public enum BacklogPolicy : byte
{
    /// <summary>Senders wait.</summary>
    Block = 0,

    /// <summary>Senders get <see cref="ErrorCode.QueueFull"/>.</summary>
    Reject = 1,

    /// <summary>The oldest messages go.</summary>
    DropOldest = 2,
}

/// <summary>
/// Everything that can be set for a topic. A null is "the broker's own setting" (create) or "as it is" (alter).
/// </summary>
/// <remarks>On the wire: u32 of presence bits in the order below, then each field present.</remarks>
public sealed record TopicSettings : IPayload<TopicSettings>
{
    /// <summary>No setting at all.</summary>
    public static readonly TopicSettings None = new();

    /// <summary>Queues, 1 or more; may only grow.</summary>
    public int? QueueCount { get; init; }

    /// <summary>Messages older than this may be removed; zero or less keeps them without end.</summary>
    public TimeSpan? RetentionAge { get; init; }

    /// <summary>Bytes kept over all queues; zero or less is no bound.</summary>
    public long? RetentionBytes { get; init; }

    /// <summary>Messages kept in each queue; zero or less is no bound.</summary>
    public long? RetentionCount { get; init; }

    /// <summary>Largest body, in bytes, within the broker's own limit.</summary>
    public int? MaxMessageBytes { get; init; }

    /// <summary>Messages the topic may hold that the slowest group that counts has not committed; zero or less is no
    /// bound.</summary>
    public long? MaxBacklogMessages { get; init; }

    /// <summary>The same in bytes of the log; zero or less is no bound.</summary>
    public long? MaxBacklogBytes { get; init; }

    /// <summary>What happens at the backlog bound.</summary>
    public BacklogPolicy? BacklogPolicy { get; init; }

    /// <summary>The groups that the backlog is counted for, separated by commas; "" = every shared group that has
    /// committed in the topic.</summary>
    public string? BacklogGroups { get; init; }

    /// <inheritdoc/>
    public static TopicSettings Read(ref PayloadReader reader)
    {
        uint present = reader.ReadUInt32();
        if (present >> 9 != 0)
            reader.Fail();
        return new TopicSettings
        {
            QueueCount = (present & 1) != 0 ? reader.ReadInt32() : null,
            RetentionAge = (present & 2) != 0 ? ReadAge(ref reader) : null,
            RetentionBytes = (present & 4) != 0 ? reader.ReadInt64() : null,
            RetentionCount = (present & 8) != 0 ? reader.ReadInt64() : null,
            MaxMessageBytes = (present & 16) != 0 ? reader.ReadInt32() : null,
            MaxBacklogMessages = (present & 32) != 0 ? reader.ReadInt64() : null,
            MaxBacklogBytes = (present & 64) != 0 ? reader.ReadInt64() : null,
            BacklogPolicy = (present & 128) != 0 ? (BacklogPolicy)reader.ReadByte() : null,
            BacklogGroups = (present & 256) != 0 ? reader.ReadString() : null,
        };
    }

    /// <inheritdoc/>
    public void Write(PayloadWriter writer)
    {
        writer.WriteUInt32(
            (QueueCount is null ? 0u : 1u)
            | (RetentionAge is null ? 0u : 2u)
            | (RetentionBytes is null ? 0u : 4u)
            | (RetentionCount is null ? 0u : 8u)
            | (MaxMessageBytes is null ? 0u : 16u)
            | (MaxBacklogMessages is null ? 0u : 32u)
            | (MaxBacklogBytes is null ? 0u : 64u)
            | (BacklogPolicy is null ? 0u : 128u)
            | (BacklogGroups is null ? 0u : 256u));
        if (QueueCount is { } queueCount)
            writer.WriteInt32(queueCount);
        if (RetentionAge is { } retentionAge)
            writer.WriteInt64((long)retentionAge.TotalMilliseconds);
        if (RetentionBytes is { } retentionBytes)
            writer.WriteInt64(retentionBytes);
        if (RetentionCount is { } retentionCount)
            writer.WriteInt64(retentionCount);
        if (MaxMessageBytes is { } maxMessageBytes)
            writer.WriteInt32(maxMessageBytes);
        if (MaxBacklogMessages is { } maxBacklogMessages)
            writer.WriteInt64(maxBacklogMessages);
        if (MaxBacklogBytes is { } maxBacklogBytes)
            writer.WriteInt64(maxBacklogBytes);
        if (BacklogPolicy is { } backlogPolicy)
            writer.WriteByte((byte)backlogPolicy);
        if (BacklogGroups is { } backlogGroups)
            writer.WriteString(backlogGroups);
    }

    /// <summary>These settings where they say something, <paramref name="other"/>'s where they do not.</summary>
    public TopicSettings Or(TopicSettings other) => new()
    {
        QueueCount = QueueCount ?? other.QueueCount,
        RetentionAge = RetentionAge ?? other.RetentionAge,
        RetentionBytes = RetentionBytes ?? other.RetentionBytes,
        RetentionCount = RetentionCount ?? other.RetentionCount,
        MaxMessageBytes = MaxMessageBytes ?? other.MaxMessageBytes,
        MaxBacklogMessages = MaxBacklogMessages ?? other.MaxBacklogMessages,
        MaxBacklogBytes = MaxBacklogBytes ?? other.MaxBacklogBytes,
        BacklogPolicy = BacklogPolicy ?? other.BacklogPolicy,
        BacklogGroups = BacklogGroups ?? other.BacklogGroups,
    };

    private static TimeSpan ReadAge(ref PayloadReader reader)
    {
        long milliseconds = reader.ReadInt64();
        if (milliseconds is > 0 and <= (long.MaxValue / TimeSpan.TicksPerMillisecond))
            return TimeSpan.FromMilliseconds(milliseconds);
        if (milliseconds > 0)
            reader.Fail();
        return TimeSpan.Zero;
    }
}
