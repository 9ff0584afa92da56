using EQueue.Protocol;

namespace EQueue.Broker.Tests.Groups;

/// <summary>A roster with topic "t", a clock of its own, and members that speak as clients do.</summary>
internal sealed class RosterDriver
{
    public const int Epoch = 3;

    private readonly Dictionary<string, Guid> _ids = [];
    private readonly Dictionary<Guid, uint> _sequences = [];

    public RosterDriver(int queues, TimeSpan? window = null)
    {
        Roster = new GroupRoster("g", Generations, Guid.Empty, TimeSpan.FromSeconds(1));
        Topics["t"] = [.. Enumerable.Range(1, queues).Select(id => new QueueId((uint)id))];
        if (window is { } until)
            Roster.OpenWindow(until, GroupKind.Shared);
    }

    public GroupGenerations Generations { get; } = new(Epoch);

    public GroupRoster Roster { get; }

    public object Connection { get; } = new();

    public Dictionary<string, QueueId[]> Topics { get; } = [];

    public HashSet<QueueId> Unreadable { get; } = [];

    public Dictionary<QueueKey, GroupGeneration> Committed { get; } = [];

    public TimeSpan Now { get; set; } = TimeSpan.FromSeconds(100);

    public static QueueKey Key(uint queue) => new(0, new QueueId(queue));

    public Guid Id(string name)
    {
        if (!_ids.TryGetValue(name, out Guid id))
            _ids.Add(name, id = new Guid(_ids.Count + 1, 0, 0, new byte[8]));
        return id;
    }

    public GroupMember Member(string name) => Roster.Find(Id(name))!;

    public GroupHeartbeatRequest Request(string name) => new()
    {
        Group = "g",
        Member = Id(name),
        Sequence = _sequences[Id(name)] = _sequences.GetValueOrDefault(Id(name)) + 1,
        SessionTimeout = TimeSpan.FromSeconds(10),
        ReleaseTimeout = TimeSpan.FromSeconds(20),
        Subscriptions = [new TopicSubscription("t", [])],
    };

    public GroupHeartbeatResponse Join(string name, string? instance = null, params string[] tags) =>
        Join(Request(name) with
        {
            InstanceId = instance,
            Subscriptions = [new TopicSubscription("t", tags)],
        });

    public GroupHeartbeatResponse Join(GroupHeartbeatRequest request)
    {
        GroupMember member = Roster.Join(request, Connection, "c", Now);
        Refresh();
        if (request.Owned is { } owned)
        {
            Roster.Claim(
                member, owned, queue => Committed.TryGetValue(queue, out GroupGeneration grant) ? grant : null);
        }

        Settle();
        return Roster.Tell(member, isWhole: true, TimeSpan.Zero);
    }

    /// <summary>A beat; null when there is no news.</summary>
    public GroupHeartbeatResponse? Beat(string name, GroupGeneration seen, params OwnedQueue[] owned) =>
        Beat(Request(name) with { Generation = seen, Owned = owned, Subscriptions = null });

    public GroupHeartbeatResponse? Beat(GroupHeartbeatRequest request)
    {
        (GroupMember member, bool isWhole) = Roster.Beat(request, Connection, "c", Now);
        Settle();
        return isWhole || member.HasNews ? Roster.Tell(member, isWhole, TimeSpan.Zero) : null;
    }

    /// <summary>What a parked call of the member is answered now; null when there is no news.</summary>
    public GroupHeartbeatResponse? News(string name) =>
        Member(name).HasNews ? Roster.Tell(Member(name), isWhole: false, TimeSpan.Zero) : null;

    public void Settle()
    {
        Refresh();
        Roster.Settle(Now);
    }

    public void Expire()
    {
        Roster.Expire(Now);
        Settle();
    }

    public void SetTopic(string topic, params uint[] queues)
    {
        Topics[topic] = [.. queues.Select(id => new QueueId(id))];
        Roster.SetTopic(topic, Topics[topic], Unreadable);
        Settle();
    }

    private void Refresh()
    {
        foreach (string topic in Roster.ChangedTopics.Where(Roster.Reads))
            Roster.SetTopic(topic, Topics.GetValueOrDefault(topic, []), Unreadable);
        Roster.ChangedTopics.Clear();
    }
}

internal static class AnswerReading
{
    public static OwnedQueue[] Queues(this GroupHeartbeatResponse? answer) =>
        [.. answer!.Assignment!.SelectMany(topic => topic.Queues).Select(one => new OwnedQueue(one.Queue, one.Grant))];

    public static uint[] Ids(this GroupHeartbeatResponse? answer) =>
        [.. answer.Queues().Select(queue => queue.Queue.Id.Value)];
}
