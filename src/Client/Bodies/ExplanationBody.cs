using System.ComponentModel;

namespace EQueue.Client;

/// <summary>Why a group did or did not consume a message, as JSON.</summary>
internal sealed record ExplanationBody(
    string Topic,
    int Queue,
    long Offset,
    string Group,
    [property: Description("Whose progress this is, in a broadcast group")] string? Instance,
    [property: Description("The one reason")] ConsumptionStatus Standing,
    [property: Description("Null: it is not there, or cannot be read")] DateTime? StoredTime,
    string? Tag,
    [property: Description("The queue's first offset")] long Start,
    [property: Description("The offset after its last visible message")] long End,
    [property: Description("The tags that the queue's reader wants; none: every message")]
    IReadOnlyList<string> TagsRead,
    [property: Description("The first message not processed; null: nothing committed")] long? Committed,
    DateTime? CommittedTime,
    [property: Description("The member that has the queue, or shall have it")] ExplainedMember? Member,
    [property: Description("The same for people, and what may be done")] IReadOnlyList<string> Sentences)
{
    public static ExplanationBody Of(Explanation facts)
    {
        bool isCommitted = facts.Progress is { Committed.Value: >= 0 };
        return new ExplanationBody(
            facts.Topic,
            facts.Queue.Number,
            facts.Offset,
            facts.Group,
            facts.Instance,
            facts.Status,
            facts.Message?.StoredTime.UtcDateTime,
            facts.Message?.Tag,
            facts.Queue.Start.Value,
            facts.Queue.End.Value,
            facts.Tags,
            isCommitted ? facts.Progress!.Committed.Value : null,
            isCommitted ? BodyTime.Of(facts.Progress!.CommittedMs) : null,
            facts.Member is { } member ? ExplainedMember.Of(member) : null,
            [.. ExplanationSentences.Of(facts)]);
    }
}

/// <summary>A member that has a queue, or shall have it, as JSON.</summary>
internal sealed record ExplainedMember(
    Guid Member,
    [property: Description("Its name that outlives the process")] string? Instance,
    string Client,
    [property: Description("Where it calls from; null: away")] string? Address,
    long SinceLastCallMs)
{
    public static ExplainedMember Of(MemberDescription member) => new(
        member.Member,
        member.InstanceId,
        member.Client,
        member.Address.Length == 0 ? null : member.Address,
        (long)member.SinceLastCall.TotalMilliseconds);
}
