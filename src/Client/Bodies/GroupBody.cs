using System.ComponentModel;
using System.Text.Json.Serialization;

namespace EQueue.Client;

/// <summary>A group in a list, as JSON.</summary>
internal sealed record GroupSummary(string Group, GroupKind Kind, GroupState State, long MemberCount)
{
    public static GroupSummary Of(GroupListing group) => new(group.Group, group.Kind, group.State, group.MemberCount);
}

/// <summary>A group as it stands, as JSON.</summary>
[method: JsonConstructor]
internal record GroupBody(
    string Group,
    GroupKind Kind,
    GroupState State,
    [property: Description("Messages not committed, over the queues listed")] long Backlog,
    IReadOnlyList<MemberBody> Members,
    IReadOnlyList<GroupQueueBody> Queues)
{
    public GroupBody(string name, GroupDescription group)
        : this(
            name,
            group.Kind,
            group.State,
            group.Queues.Sum(static queue => queue.Lag),
            [.. group.Members.Select(static member => new MemberBody(member))],
            [.. group.Queues.Select(queue => new GroupQueueBody(queue, group.Members))])
    {
    }
}

/// <summary>A member of a group, as JSON.</summary>
[method: JsonConstructor]
internal record MemberBody(
    Guid Member,
    [property: Description("Its name that outlives the process")] string? InstanceId,
    string Client,
    [property: Description("Where it calls from; empty: away")] string Address,
    long SessionTimeoutMs,
    long SinceLastCallMs,
    IReadOnlyList<SubscriptionBody> Subscriptions,
    [property: Description("Queues that it has")] long OwnedCount,
    [property: Description("Queues that it shall have and has not yet")] long PendingCount)
{
    public MemberBody(MemberDescription member)
        : this(
            member.Member,
            member.InstanceId,
            member.Client,
            member.Address,
            (long)member.SessionTimeout.TotalMilliseconds,
            (long)member.SinceLastCall.TotalMilliseconds,
            [.. member.Subscriptions.Select(static one => new SubscriptionBody(one.Topic, [.. one.Tags]))],
            member.OwnedCount,
            member.PendingCount)
    {
    }
}

/// <summary>What a member reads of a topic, as JSON.</summary>
internal sealed record SubscriptionBody(
    string Topic,
    [property: Description("None: every message")] IReadOnlyList<string> Tags);

/// <summary>A group's progress in a queue, as JSON.</summary>
[method: JsonConstructor]
internal record GroupQueueBody(
    string Topic,
    int Queue,
    [property: Description("The member that has it")] Guid? Owner,
    [property: Description("The member that shall have it")] Guid? Target,
    [property: Description("Whose progress this is, in a broadcast group")] string? InstanceId,
    [property: Description("The first message not processed; null: nothing committed")] long? Committed,
    DateTime? CommittedTime,
    long Start,
    long End,
    [property: Description("Messages not committed")] long Lag,
    [property: Description("Age of the first of them; null: not asked, or not known")] long? LagMs)
{
    public GroupQueueBody(GroupQueueDescription queue, IReadOnlyList<MemberDescription> members)
        : this(
            queue.Topic,
            queue.Number,
            IdOf(queue.Owner, members),
            IdOf(queue.Target, members),
            queue.InstanceId,
            queue.Committed.Value < 0 ? null : queue.Committed.Value,
            BodyTime.OfKnown(queue.CommittedMs, least: 0),
            queue.Start.Value,
            queue.End.Value,
            queue.Lag,
            queue.LagMs < 0 ? null : queue.LagMs)
    {
    }

    private static Guid? IdOf(int index, IReadOnlyList<MemberDescription> members) =>
        index >= 0 && index < members.Count ? members[index].Member : null;
}

/// <summary>A queue whose progress was set, or would be, as JSON.</summary>
[method: JsonConstructor]
internal record ResetQueueBody(
    string Topic,
    int Queue,
    [property: Description("What was committed; null: nothing")] long? From,
    [property: Description("What is committed now; null with an error")] long? To,
    [property: Description("Why it stays as it is")] string? Error)
{
    public ResetQueueBody(ResetQueue queue)
        : this(
            queue.Topic,
            queue.Number,
            queue.From.Value < 0 ? null : queue.From.Value,
            queue.To.Value < 0 ? null : queue.To.Value,
            queue.Error == ErrorCode.None ? null : queue.Error.ToString())
    {
    }
}
