namespace EQueue.Cli.Watching;

/// <summary>What a broker, or several, held and had done at one moment.</summary>
/// <param name="Time">When, on the clock of the timer.</param>
/// <param name="Connections">Connections of all brokers.</param>
/// <param name="Requests">Requests since their start.</param>
/// <param name="Ends">Of each topic, what was ever stored in it: the sum of its queues' ends.</param>
/// <param name="TopicCount">Topics there are; more than <paramref name="Ends"/> has when they are very many.</param>
/// <param name="Memory">Pools of memory: of each the fullest that a broker has.</param>
internal sealed record Load(
    long Time,
    long Connections,
    long Requests,
    IReadOnlyDictionary<string, long> Ends,
    int TopicCount,
    IReadOnlyList<MemoryLevel> Memory)
{
    /// <summary>Topics that are looked into; the rest is counted alone.</summary>
    public const int MostTopics = 5_000;

    /// <summary>Topics asked about at once.</summary>
    private const int Window = 64;

    /// <param name="admin">Administers the topics of all brokers.</param>
    /// <param name="each">One for each broker, for its own figures.</param>
    /// <param name="time">The clock.</param>
    /// <param name="cancellationToken">Gives up.</param>
    public static async Task<Load> ReadAsync(
        EQueueAdmin admin, IReadOnlyList<EQueueAdmin> each, TimeProvider time, CancellationToken cancellationToken)
    {
        long connections = 0;
        long requests = 0;
        var levels = new List<MemoryLevel>();
        foreach (EQueueAdmin one in each)
        {
            BrokerFigures figures = await one.ReadFiguresAsync(cancellationToken);
            connections += figures.Find("broker.connections") ?? 0;
            requests += figures.Find("broker.requests") ?? 0;
            levels.AddRange(MemoryLevel.Read(figures));
        }

        var names = new List<string>();
        int count = 0;
        await foreach (TopicListing topic in admin.ListTopicsAsync(cancellationToken))
        {
            if (++count <= MostTopics)
                names.Add(topic.Topic);
        }

        long at = time.GetTimestamp();
        var ends = new Dictionary<string, long>(StringComparer.Ordinal);
        foreach (string[] some in names.Chunk(Window))
        {
            (string Name, long? End)[] found = await Task.WhenAll(some.Select(
                name => EndOfAsync(admin, name, cancellationToken)));
            foreach ((string name, long? end) in found)
            {
                if (end is { } known)
                    ends[name] = known;
            }
        }

        return new Load(at, connections, requests, ends, count, MemoryLevel.Fullest(levels));
    }

    /// <returns>Null when the topic has gone meanwhile.</returns>
    private static async Task<(string Name, long? End)> EndOfAsync(
        EQueueAdmin admin, string topic, CancellationToken cancellationToken)
    {
        try
        {
            TopicDescription found = await admin.DescribeTopicAsync(topic, cancellationToken);
            return (topic, found.Queues.Sum(queue => queue.End.Value));
        }
        catch (EQueueException exception) when (exception.Code == ErrorCode.UnknownTopic)
        {
            return (topic, null);
        }
    }
}
