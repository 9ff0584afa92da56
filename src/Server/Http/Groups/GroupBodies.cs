using System.ComponentModel;
using EQueue.Protocol;

namespace EQueue.Server.Http;

/// <summary>A page of groups.</summary>
internal sealed record GroupPage(
    IReadOnlyList<GroupSummary> Groups,
    [property: Description("Whether more come after the last one")] bool HasMore);

internal sealed record GroupSummary(string Group, GroupKind Kind, GroupState State, long MemberCount);

/// <summary>A group as it stands.</summary>
internal sealed record GroupBody(
    string Group,
    GroupKind Kind,
    GroupState State,
    [property: Description("Messages not committed, over the queues listed")] long Backlog,
    IReadOnlyList<MemberBody> Members,
    IReadOnlyList<GroupQueueBody> Queues)
{
    public static GroupBody Of(string name, GroupDescription group) => new(
        name,
        group.Kind,
        group.State,
        group.Queues.Sum(static queue => queue.Lag),
        [.. group.Members.Select(MemberBody.Of)],
        [.. group.Queues.Select(queue => GroupQueueBody.Of(queue, group.Members))]);
}

internal sealed record MemberBody(
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
    public static MemberBody Of(MemberDescription member) => new(
        member.Member,
        member.InstanceId,
        member.Client,
        member.Address,
        (long)member.SessionTimeout.TotalMilliseconds,
        (long)member.SinceLastCall.TotalMilliseconds,
        [.. member.Subscriptions.Select(static one => new SubscriptionBody(one.Topic, [.. one.Tags]))],
        member.OwnedCount,
        member.PendingCount);
}

internal sealed record SubscriptionBody(
    string Topic,
    [property: Description("None: every message")] IReadOnlyList<string> Tags);

internal sealed record GroupQueueBody(
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
    public static GroupQueueBody Of(GroupQueueDescription queue, IReadOnlyList<MemberDescription> members) => new(
        queue.Topic,
        queue.Number,
        IdOf(queue.Owner, members),
        IdOf(queue.Target, members),
        queue.InstanceId,
        queue.Committed.Value < 0 ? null : queue.Committed.Value,
        queue.CommittedMs < 0 ? null : ApiTime.Of(queue.CommittedMs),
        queue.Start.Value,
        queue.End.Value,
        queue.Lag,
        queue.LagMs < 0 ? null : queue.LagMs);

    private static Guid? IdOf(int index, IReadOnlyList<MemberDescription> members) =>
        index >= 0 && index < members.Count ? members[index].Member : null;
}

/// <summary>Where a group is set to.</summary>
internal enum ResetPlace
{
    /// <summary>The first message.</summary>
    Begin = 0,

    /// <summary>The end.</summary>
    End = 1,

    /// <summary>An offset.</summary>
    Offset = 2,

    /// <summary>A time.</summary>
    Time = 3,

    /// <summary>So many messages on, or back.</summary>
    ShiftBy = 4,
}

internal sealed record ResetBody(
    [property: Description("Where to")] ResetPlace To,
    [property: Description("Null: every queue that has progress")] string? Topic = null,
    [property: Description("Numbers of the topic's queues; null: all")] IReadOnlyList<int>? Queues = null,
    [property: Description("The instance of a broadcast group")] string? InstanceId = null,
    [property: Description("The offset, or the messages to shift by")] long? Value = null,
    [property: Description("With to = time: the first batch stored then or later")] DateTimeOffset? Time = null,
    [property: Description("Only tell what would become of it")] bool Preview = false);

internal sealed record ResetResultBody(
    [property: Description("Whether nothing was stored")] bool Preview, IReadOnlyList<ResetQueueBody> Queues);

internal sealed record ResetQueueBody(
    string Topic,
    int Queue,
    [property: Description("What was committed; null: nothing")] long? From,
    [property: Description("What is committed now; null with an error")] long? To,
    [property: Description("Why it stays as it is")] string? Error);
