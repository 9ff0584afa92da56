using System.Text.Json.Serialization;

namespace EQueue.Cli.Output;

/// <summary>A group as a line of JSON: its body, and what has had another name here from the first.</summary>
internal sealed record GroupLine : GroupBody
{
    public GroupLine(string name, GroupDescription group)
        : base(name, group)
    {
        Generation = group.Generation.Value;
        Members = [.. group.Members.Select(static member => new MemberLine(member))];
        Queues = [.. group.Queues.Select(queue => new GroupQueueLine(queue, group.Members))];
    }

    [JsonPropertyOrder(1)]
    public long Generation { get; }

    [JsonPropertyOrder(2)]
    public new IReadOnlyList<MemberLine> Members { get; }

    [JsonPropertyOrder(2)]
    public new IReadOnlyList<GroupQueueLine> Queues { get; }
}

/// <summary>A member as a line of JSON has it; one that is away has no address.</summary>
internal sealed record MemberLine : MemberBody
{
    public MemberLine(MemberDescription member)
        : base(member)
    {
        Instance = InstanceId;
        Topics = Subscriptions;
        Address = member.Address.Length == 0 ? null : member.Address;
    }

    [JsonPropertyOrder(1)]
    public new string? Address { get; }

    [JsonPropertyOrder(1)]
    public string? Instance { get; }

    [JsonPropertyOrder(1)]
    public IReadOnlyList<SubscriptionBody> Topics { get; }
}

/// <summary>A group's progress in a queue as a line of JSON has it.</summary>
internal sealed record GroupQueueLine : GroupQueueBody
{
    public GroupQueueLine(GroupQueueDescription queue, IReadOnlyList<MemberDescription> members)
        : base(queue, members) =>
        Instance = InstanceId;

    [JsonPropertyOrder(1)]
    public string? Instance { get; }
}

/// <summary>A queue whose progress was set, or would be, as a line of JSON.</summary>
internal sealed record ResetQueueLine : ResetQueueBody
{
    public ResetQueueLine(ResetQueue queue, bool isPreview)
        : base(queue) =>
        Preview = isPreview;

    /// <summary>Whether nothing was stored.</summary>
    [JsonPropertyOrder(1)]
    public bool Preview { get; }
}
