using System.Globalization;

namespace EQueue.Client;

/// <summary>An explanation in plain sentences: what is so, and what to do when something is to be done.</summary>
internal static class ExplanationSentences
{
    public static IEnumerable<string> Of(Explanation facts)
    {
        yield return Stored(facts);
        yield return Reason(facts);
        if (TellsProgress(facts.Status))
            yield return Progress(facts);
        if (Advice(facts) is { } advice)
            yield return advice;
    }

    private static bool TellsProgress(ConsumptionStatus status) => status
        is not (ConsumptionStatus.NotStored or ConsumptionStatus.Missing or ConsumptionStatus.NotSubscribed);

    private static string Stored(Explanation facts)
    {
        string place = $"{facts.Topic}/{facts.Queue.Number} offset {facts.Offset}";
        string span = facts.Queue.Start.Value == facts.Queue.End.Value
            ? $"the queue is empty, and its next offset is {facts.Queue.End.Value}"
            : $"the queue holds {facts.Queue.Start.Value} to {facts.Queue.End.Value - 1}";
        if (facts.Offset >= facts.Queue.End.Value)
            return $"{place} is not stored: {span}.";
        if (facts.Offset < facts.Queue.Start.Value)
            return $"{place} is no longer stored: {span}.";
        if (facts.Message is not { } message)
        {
            return facts.Status switch
            {
                ConsumptionStatus.Damaged =>
                    $"{place} is stored but cannot be read: it is damaged, or compressed in an unknown way.",
                ConsumptionStatus.QueueClosed => $"{place} is within what is stored: {span}.",
                _ => $"{place} holds no message, although {span}.",
            };
        }

        string tag = message.Tag is null ? "no tag" : $"the tag '{message.Tag}'";
        return $"{place} is stored since {BodyTime.Text(message.StoredTime)}, with {tag}.";
    }

    private static string Reason(Explanation facts)
    {
        string group = facts.Instance is { } instance
            ? $"{facts.Group} (instance {instance})" : facts.Group;
        return facts.Status switch
        {
            ConsumptionStatus.NotStored => "Nobody can have consumed it yet.",
            ConsumptionStatus.Expired => $"It went by the topic's retention before {group} had committed it.",
            ConsumptionStatus.Missing => "It was passed over when it was stored or has gone since.",
            ConsumptionStatus.Damaged => $"Readers of {group} are told that it is missing.",
            ConsumptionStatus.NotSubscribed =>
                $"{group} does not read {facts.Topic}: it has committed nothing in this queue, and no member "
                + "subscribes to the topic.",
            ConsumptionStatus.Filtered => $"The broker passes it over: {group} reads {facts.Topic} with "
                + $"{(facts.Tags.Count == 1 ? "the tag" : "the tags")} {string.Join(", ", facts.Tags)} only.",
            ConsumptionStatus.Committed => $"{group} has committed it: it counts as consumed.",
            ConsumptionStatus.QueueClosed => "The queue may not be read (topic alter-queues --readable false).",
            ConsumptionStatus.NoMembers when facts.Instance is not null =>
                $"{group} is not there: nobody reads for it.",
            ConsumptionStatus.NoMembers => facts.MemberCount == 0
                ? $"{group} has no members: nobody reads."
                : $"None of the {facts.MemberCount} members of {group} subscribes to {facts.Topic}.",
            ConsumptionStatus.Moving =>
                $"The queue is on its way to {(facts.Member is { } next ? Name(next) : "a member")}, "
                + "and nobody has it at the moment.",
            _ => InHands(facts, group),
        };
    }

    private static string InHands(Explanation facts, string group)
    {
        MemberDescription member = facts.Member!;
        string where = member.Address.Length == 0
            ? "which is away" : $"at {member.Address}";
        return $"{group} has not committed it. The queue is with {Name(member)}, {where}, "
            + $"whose last call was {HumanText.Time(member.SinceLastCall)} ago.";
    }

    private static string Progress(Explanation facts)
    {
        if (facts.Progress is not { Committed.Value: >= 0 } progress)
            return "Nothing is committed in this queue: where reading begins, the reader's own setting says.";
        string since = progress.CommittedMs < 0 ? "" : CommittedAt(facts, progress.CommittedMs);
        long from = Math.Max(progress.Committed.Value, facts.Queue.Start.Value);
        long ahead = facts.Offset - from;
        string distance = ahead switch
        {
            < 0 => "",
            0 => " It is the next one.",
            _ => string.Create(CultureInfo.InvariantCulture, $" {ahead} before it are not committed either."),
        };
        return $"Committed up to offset {progress.Committed.Value}{since}.{distance}";
    }

    private static string CommittedAt(Explanation facts, long committedMs)
    {
        var at = DateTimeOffset.FromUnixTimeMilliseconds(committedMs);
        TimeSpan age = facts.AskedAt - at;
        return $" at {BodyTime.Text(at)} ({HumanText.Time(age < TimeSpan.Zero ? TimeSpan.Zero : age)} ago)";
    }

    private static string? Advice(Explanation facts) => facts.Status switch
    {
        ConsumptionStatus.Expired => "How to keep messages longer: equeue topic alter --help",
        ConsumptionStatus.NoMembers =>
            $"Start a reader of the group; equeue group describe {facts.Group} shows how far it is behind.",
        ConsumptionStatus.QueueClosed => "How to open it: equeue topic alter-queues --help",
        ConsumptionStatus.Damaged => "Look at the broker's data with: equeue log verify DIR",
        ConsumptionStatus.InHands => $"To see whether the group moves: equeue group lag {facts.Group} --watch",
        ConsumptionStatus.Committed or ConsumptionStatus.Filtered => "To look at it: equeue find "
            + $"{facts.Topic} --queue {facts.Queue.Number} --offset {facts.Offset}",
        _ => null,
    };

    private static string Name(MemberDescription member) => member.InstanceId is { } instance
        ? $"{instance} ({member.Client})" : member.Client;
}
