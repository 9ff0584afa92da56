using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>
/// The answers of several brokers as one, and the numbers that queues have for the application: queue n of the broker
/// at the i-th of k addresses has the number n * k + i.
/// </summary>
internal static class Shares
{
    /// <summary>The number that a queue has for the application: no two have the same, and none changes when a broker
    /// is away or gets more queues.</summary>
    /// <param name="number">As its broker calls it; what is no number at all, below 0, stays as it is.</param>
    /// <param name="share">The index of the broker's address.</param>
    /// <param name="count">How many addresses there are.</param>
    public static int NumberOf(int number, int share, int count) => number < 0 ? number : (number * count) + share;

    /// <summary>The numbers that the broker at one address has for queues; null where it has none of them.</summary>
    /// <param name="queues">As the application calls them; null = all.</param>
    /// <param name="share">The index of the address.</param>
    /// <param name="count">How many addresses there are.</param>
    /// <param name="isAsked">False when the broker has none of the queues.</param>
    public static IReadOnlyList<int>? NumbersAt(IReadOnlyList<int>? queues, int share, int count, out bool isAsked)
    {
        isAsked = true;
        if (queues is null || count == 1)
            return queues;
        int[] own = [.. queues.Where(queue => queue >= 0 && queue % count == share).Select(queue => queue / count)];

        // What is no number at all is the first broker's to refuse.
        int[] refused = share == 0 ? [.. queues.Where(static queue => queue < 0)] : [];
        isAsked = own.Length + refused.Length > 0;
        return [.. own, .. refused];
    }

    /// <summary>A topic: id, time and settings as the first broker has them.</summary>
    public static TopicDescription Unite(IReadOnlyList<BrokerAnswer<TopicDescription>> answers, int count) =>
        answers[0].Answer with
        {
            Queues = [.. answers
                .SelectMany(answer => answer.Answer.Queues.Select(
                    queue => queue with { Number = NumberOf(queue.Number, answer.Share, count) }))
                .OrderBy(static queue => queue.Number)],
        };

    /// <summary>A group: members by id; it stands where the broker stands that is behind the others.</summary>
    public static GroupDescription Unite(IReadOnlyList<BrokerAnswer<GroupDescription>> answers, int count)
    {
        List<MemberDescription> members = [];
        List<GroupQueueDescription> queues = [];
        foreach ((int share, GroupDescription group) in answers)
        {
            int[] places = group.Members.Select(member => Place(members, member)).ToArray();
            queues.AddRange(group.Queues.Select(queue => queue with
            {
                Number = NumberOf(queue.Number, share, count),
                Owner = queue.Owner < 0 ? queue.Owner : places[queue.Owner],
                Target = queue.Target < 0 ? queue.Target : places[queue.Target],
            }));
        }

        return answers[0].Answer with
        {
            State = Worst(answers.Select(static answer => answer.Answer.State)),
            Members = members,
            Queues = [.. queues
                .OrderBy(static queue => queue.Topic, StringComparer.Ordinal)
                .ThenBy(static queue => queue.Number)],
        };
    }

    /// <summary>What became of queues.</summary>
    public static IReadOnlyList<ResetQueue> Unite(
        IReadOnlyList<BrokerAnswer<ResetOffsetsResponse>> answers, int count) =>
    [
        .. answers
            .SelectMany(answer => answer.Answer.Queues.Select(
                queue => queue with { Number = NumberOf(queue.Number, answer.Share, count) }))
            .OrderBy(static queue => queue.Topic, StringComparer.Ordinal)
            .ThenBy(static queue => queue.Number),
    ];

    /// <summary>What brokers were each told: by name, as the first broker that has it tells it.</summary>
    public static IEnumerable<T> UniteByName<T>(IEnumerable<T> items, Func<T, string> nameOf) =>
        items.DistinctBy(nameOf, StringComparer.Ordinal).OrderBy(nameOf, StringComparer.Ordinal);

    /// <summary>Groups by name.</summary>
    public static IEnumerable<GroupListing> Unite(IEnumerable<GroupListing> listings) => listings
        .GroupBy(static group => group.Group, StringComparer.Ordinal)
        .OrderBy(static group => group.Key, StringComparer.Ordinal)
        .Select(static group => group.First() with
        {
            State = Worst(group.Select(static one => one.State)),
            MemberCount = group.Max(static one => one.MemberCount),
        });

    /// <summary>Topics by name.</summary>
    public static IEnumerable<TopicListing> Unite(IEnumerable<TopicListing> listings) => listings
        .GroupBy(static topic => topic.Topic, StringComparer.Ordinal)
        .OrderBy(static topic => topic.Key, StringComparer.Ordinal)
        .Select(static topic => topic.First() with { QueueCount = topic.Sum(static one => one.QueueCount) });

    /// <summary>Empty only when it is empty everywhere.</summary>
    private static GroupState Worst(IEnumerable<GroupState> states) =>
        states.Where(static state => state != GroupState.Empty).DefaultIfEmpty(GroupState.Empty).Min();

    /// <summary>The index of a member, who may be known from another broker.</summary>
    private static int Place(List<MemberDescription> members, MemberDescription member)
    {
        int place = members.FindIndex(known => known.Member == member.Member);
        if (place < 0)
        {
            members.Add(member);
            return members.Count - 1;
        }

        MemberDescription known = members[place];
        members[place] = known with
        {
            Address = known.Address.Length == 0 ? member.Address : known.Address,
            SinceLastCall = known.SinceLastCall > member.SinceLastCall ? known.SinceLastCall : member.SinceLastCall,
            OwnedCount = known.OwnedCount + member.OwnedCount,
            PendingCount = known.PendingCount + member.PendingCount,
        };
        return place;
    }
}
