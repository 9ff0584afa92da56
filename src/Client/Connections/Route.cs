using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>Where the queues of topics are, as one broker told it or as several together.</summary>
/// <param name="Answer">Topics in the order asked for; queues by number.</param>
/// <param name="Addresses">Where the brokers of the answer listen, in its order.</param>
/// <param name="Missing">Given addresses whose broker has never told of these topics: their queues are not
/// known.</param>
internal sealed record Route(
    RouteResponse Answer, IReadOnlyList<ServerAddress> Addresses, IReadOnlyList<ServerAddress> Missing)
{
    /// <summary>Whether every broker has told its share.</summary>
    public bool IsComplete => Missing.Count == 0;

    /// <summary>Where the brokers of an answer listen.</summary>
    /// <param name="answer">What a broker told.</param>
    /// <param name="source">The address that answered: stands in where a broker gives none of its own.</param>
    public static IReadOnlyList<ServerAddress> AddressesIn(RouteResponse answer, ServerAddress source) =>
    [
        .. answer.Brokers.Select(broker => new ServerAddress(
            broker.Host.Length == 0 ? source.Host : broker.Host,
            broker.Port == 0 ? source.Port : broker.Port)),
    ];

    /// <summary>Where the broker of a queue listens.</summary>
    public ServerAddress AddressOf(QueueRoute queue) => Addresses[queue.BrokerIndex];

    /// <summary>The queues of a topic that was asked for alone.</summary>
    /// <exception cref="EQueueException">The topic's error; Unreachable: a broker has never told its share.</exception>
    public IReadOnlyList<QueueRoute> QueuesOf(string topic)
    {
        TopicRoute answer = Answer.Topics[0];
        if (!IsComplete)
        {
            throw new EQueueException(
                ErrorCode.Unreachable,
                $"{string.Join(", ", Missing)} does not answer: its queues of {topic} are not known.");
        }

        return answer.Error == ErrorCode.None
            ? answer.Queues
            : throw new EQueueException(answer.Error, $"{ErrorCodes.Describe(answer.Error)}: {topic}.");
    }

    /// <summary>One queue of a topic that was asked for alone.</summary>
    /// <exception cref="EQueueException">As <see cref="QueuesOf"/>, and UnknownQueue.</exception>
    public QueueRoute FindQueue(string topic, int number)
    {
        IReadOnlyList<QueueRoute> queues = QueuesOf(topic);
        return queues.FirstOrDefault(queue => queue.Number == number)
            ?? throw new EQueueException(
                ErrorCode.UnknownQueue,
                queues.Count > 0 && queues[^1].Number == queues.Count - 1
                    ? $"{topic} has queues 0 to {queues.Count - 1}, none with number {number}."
                    : $"{topic} has queues {string.Join(", ", queues.Select(static queue => queue.Number))}, "
                        + $"none with number {number}.");
    }

    /// <summary>The shares of several brokers as one route, the queues numbered by <see cref="Shares"/>.</summary>
    /// <param name="topics">The topics asked for.</param>
    /// <param name="shares">What each broker told, by index; null = it has never told.</param>
    /// <param name="seeds">The brokers.</param>
    public static Route Union(
        IReadOnlyList<string> topics, IReadOnlyList<RouteResponse?> shares, IReadOnlyList<Seed> seeds)
    {
        List<BrokerAddress> brokers = [];
        List<ServerAddress> addresses = [];
        List<ServerAddress> missing = [];
        int[] starts = new int[shares.Count];
        for (int i = 0; i < shares.Count; i++)
        {
            starts[i] = brokers.Count;
            if (shares[i] is not { } share)
            {
                missing.Add(seeds[i].Address);
                continue;
            }

            brokers.AddRange(share.Brokers);
            addresses.AddRange(seeds[i].AddressesIn(share));
        }

        IEnumerable<TopicRoute> united = topics.Select((topic, index) => Union(topic, index, shares, starts));
        return new Route(new RouteResponse(brokers, [.. united]), addresses, missing);
    }

    private static TopicRoute Union(string topic, int index, IReadOnlyList<RouteResponse?> shares, int[] starts)
    {
        List<QueueRoute> queues = [];
        TopicRoute? first = null;
        TopicRoute? refused = null;
        uint maxMessageBytes = uint.MaxValue;
        for (int i = 0; i < shares.Count; i++)
        {
            if (shares[i]?.Topics[index] is not { } share)
                continue;
            if (share.Error != ErrorCode.None)
            {
                // What is wrong with the name or the broker says more than that the topic is not there.
                if (refused is null || refused.Error == ErrorCode.UnknownTopic)
                    refused = share;
                continue;
            }

            first ??= share;
            maxMessageBytes = Math.Min(maxMessageBytes, share.MaxMessageBytes);
            foreach (QueueRoute queue in share.Queues)
            {
                queues.Add(queue with
                {
                    Number = Shares.NumberOf(queue.Number, i, shares.Count),
                    BrokerIndex = (ushort)(starts[i] + queue.BrokerIndex),
                });
            }
        }

        queues.Sort(static (one, other) => one.Number.CompareTo(other.Number));
        return first is not null
            ? first with { MaxMessageBytes = maxMessageBytes, Queues = queues }
            : refused ?? new TopicRoute(ErrorCode.Unreachable, topic, default, 0, []);
    }
}
