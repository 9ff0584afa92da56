using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>The member of a group. Guarded by the group's gate.</summary>
internal sealed class GroupMember(Guid id)
{
    public Guid Id { get; } = id;

    /// <summary>Where the last heartbeat came from.</summary>
    public required BrokerConnection Peer { get; set; }

    public required TimeSpan SessionTimeout { get; set; }

    /// <summary>When the member is out without another heartbeat.</summary>
    public required DateTimeOffset Deadline { get; set; }

    public IReadOnlyList<TopicSubscription> Subscriptions { get; set; } = [];

    /// <summary>What the member was told last.</summary>
    public IReadOnlyList<MemberQueue> Assignment { get; set; } = [];

    /// <summary>The catalogue's version that the assignment was made from.</summary>
    public long CatalogueVersion { get; set; }

    /// <summary>Whether nobody else may take the group: in time, and its connection stands.</summary>
    public bool IsLive(DateTimeOffset now) => now < Deadline && !Peer.IsClosed;
}

/// <summary>A queue of a member.</summary>
internal sealed record MemberQueue(string Topic, int Number, FetchQueueKey Queue);
