namespace EQueue.Broker;

/// <summary>The topics that the members of one group read, how many read each, and what all of them take in
/// memory.</summary>
/// <remarks>Guarded by the group's gate.</remarks>
internal sealed class RosterTopics(string group)
{
    private readonly SortedDictionary<string, RosterTopic> _topics = new(StringComparer.Ordinal);

    /// <summary>What the members and the queues that they read take in memory.</summary>
    public long Bytes { get; private set; }

    /// <summary>By name.</summary>
    public IReadOnlyCollection<RosterTopic> All => _topics.Values;

    /// <summary>Topics whose first reader came or whose last one went; the caller takes them out.</summary>
    public List<string> Changed { get; } = [];

    public RosterTopic? Find(string topic) => _topics.GetValueOrDefault(topic);

    /// <summary>Takes over which queues a topic has.</summary>
    /// <param name="topic">One that members read.</param>
    /// <param name="queues">By number.</param>
    public void SetQueues(RosterTopic topic, RosterQueue[] queues)
    {
        Bytes += (long)RosterSize.Queue * (queues.Length - topic.Queues.Length);
        topic.Queues = queues;
    }

    /// <summary>Checks that members ask for the tags for which the others read.</summary>
    /// <param name="wanted">Tags by topic.</param>
    /// <param name="others">The members that read, but for the one that asks.</param>
    /// <exception cref="EQueueException">TagsDiffer.</exception>
    public void CheckTags(Dictionary<string, string[]> wanted, IEnumerable<GroupMember> others)
    {
        foreach ((string topic, string[] tags) in wanted)
        {
            if (!_topics.TryGetValue(topic, out RosterTopic? read) || read.Tags.AsSpan().SequenceEqual(tags))
                continue;
            GroupMember? other = others.FirstOrDefault(
                member => member.Subscriptions.ContainsKey(topic));
            if (other is not null)
            {
                throw new EQueueException(
                    ErrorCode.TagsDiffer,
                    $"Group '{group}' reads {HeartbeatRules.Describe(read.Tags)} of topic '{topic}' "
                    + $"({other.Client}); this member asks for {HeartbeatRules.Describe(tags)}.");
            }
        }
    }

    /// <summary>A member that reads nothing begins to read topics.</summary>
    public void Subscribe(GroupMember member, Dictionary<string, string[]> wanted, GroupKind kind)
    {
        // Members of a group mostly read the same: they share names and tags.
        var shared = new Dictionary<string, string[]>(wanted.Count);
        member.Bytes = RosterSize.Member + RosterSize.OfText(member.InstanceId) + RosterSize.OfText(member.Client);
        foreach ((string topic, string[] tags) in wanted)
        {
            if (!_topics.TryGetValue(topic, out RosterTopic? read))
            {
                _topics.Add(topic, read = new RosterTopic(topic));
                Bytes += RosterSize.Topic + RosterSize.OfText(topic);
                Changed.Add(topic);
            }

            string[] own = read.Tags;
            if (!own.AsSpan().SequenceEqual(tags))
            {
                own = tags;
                if (kind == GroupKind.Broadcast && read.ReaderCount > 0)
                {
                    member.Bytes += RosterSize.Of(tags);
                }
                else
                {
                    Bytes += RosterSize.Of(tags) - RosterSize.Of(read.Tags);
                    read.Tags = tags;
                }
            }

            read.ReaderCount++;
            shared.Add(read.Name, own);
            member.Bytes += RosterSize.Subscription;
        }

        member.Subscriptions = shared;
        Bytes += member.Bytes;
    }

    /// <summary>A member reads nothing any more.</summary>
    /// <returns>The queues that no member reads any more.</returns>
    public List<RosterQueue> Unsubscribe(GroupMember member)
    {
        Bytes -= member.Bytes;
        return Leave(member.Subscriptions.Keys);
    }

    /// <summary>A member reads other topics from now on.</summary>
    /// <returns>The queues that no member reads any more.</returns>
    public List<RosterQueue> Resubscribe(GroupMember member, Dictionary<string, string[]> wanted, GroupKind kind)
    {
        IReadOnlyDictionary<string, string[]> before = member.Subscriptions;
        Bytes -= member.Bytes;
        Subscribe(member, wanted, kind);
        return Leave(before.Keys);
    }

    private List<RosterQueue> Leave(IEnumerable<string> topics)
    {
        var unread = new List<RosterQueue>();
        foreach (string topic in topics)
        {
            RosterTopic read = _topics[topic];
            if (--read.ReaderCount > 0)
                continue;
            unread.AddRange(read.Queues);
            Bytes -= RosterSize.Topic + RosterSize.OfText(topic) + RosterSize.Of(read.Tags)
                + ((long)RosterSize.Queue * read.Queues.Length);
            _topics.Remove(topic);
            Changed.Add(topic);
        }

        return unread;
    }
}
