namespace EQueue.Broker;

/// <summary>A queue that a group reads: who has it and who shall have it. Guarded by the group's gate.</summary>
internal sealed class RosterQueue(string topic, int number, QueueKey key)
{
    public string Topic { get; } = topic;

    public int Number { get; } = number;

    public QueueKey Key { get; } = key;

    /// <summary>Whether it may be read; one that may not has no owner.</summary>
    public bool IsReadable { get; set; } = true;

    public GroupMember? Owner { get; set; }

    /// <summary>The generation in which the owner was given the queue.</summary>
    public GroupGeneration Grant { get; set; } = GroupGeneration.None;

    public GroupMember? Target { get; set; }

    /// <summary>Since when the owner is to give it up; null = it is not.</summary>
    public TimeSpan? OwedSince { get; set; }

    /// <summary>Whether the target had it before a restart of the broker and claims it in the settle window.</summary>
    public bool IsClaimed { get; set; }

    /// <summary>Who had it last, by rank.</summary>
    public ulong? LastOwner { get; set; }
}

/// <summary>A topic that members of a group read.</summary>
internal sealed class RosterTopic(string name)
{
    public string Name { get; } = name;

    /// <summary>Sorted and distinct, the same for all readers of a shared group.</summary>
    public string[] Tags { get; set; } = [];

    public int ReaderCount { get; set; }

    /// <summary>By number; empty while the topic does not exist.</summary>
    public RosterQueue[] Queues { get; set; } = [];
}
