namespace EQueue.Broker;

/// <summary>
/// What a broker allows. At a limit the answer is a typed error or the asker waits; nothing grows without bound.
/// </summary>
public sealed record LimitOptions
{
    /// <summary>Room in a batch beside the body of a single message.</summary>
    internal const int BatchOverheadBytes = 64 << 10;

    /// <summary>Largest message body; 1 KiB to 256 MiB. Topics may ask for less.</summary>
    public int MaxMessageBytes { get; init; } = 4 << 20;

    /// <summary>
    /// Largest size of a compressed batch when it is uncompressed, in bytes; up to 64 MiB, which every reader takes as
    /// it is set up. 0 refuses compressed batches.
    /// </summary>
    public int MaxDecompressedBytes { get; init; } = 32 << 20;

    /// <summary>Connections at once; 1 to 1,000,000.</summary>
    public int MaxConnections { get; init; } = 18_000;

    /// <summary>
    /// Of these, places for peers on this machine alone (loopback, Unix sockets, the admin port); 0 to 100,000. At most
    /// a quarter of all counts.
    /// </summary>
    public int LocalConnections { get; init; } = 64;

    /// <summary>
    /// Connections of one address (of IPv6: of one /64 subnet); 0 to 1,000,000. With 0 an address elsewhere has at most
    /// as many as it leaves free, and this machine's have no bound of their own.
    /// </summary>
    public int MaxConnectionsPerAddress { get; init; }

    /// <summary>
    /// How long after it was accepted a connection must have said Hello; TLS counts in, pings change nothing. 100 ms to
    /// 10 min.
    /// </summary>
    public TimeSpan HelloTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// Bytes per second that a frame must come in with once it has begun, over 10 s; 0 to 1 GiB. When requests wait for
    /// receive memory, connections whose frames have stalled are closed for them. 0: neither.
    /// </summary>
    public int MinReceiveRate { get; init; } = 16 << 10;

    /// <summary>
    /// Memory for fetch answers that their readers have not taken yet, over all connections; 16 MiB or more. Beyond it
    /// answers carry 64 KiB or a single entry.
    /// </summary>
    public long MemoryBytes { get; init; } = 512L << 20;

    /// <summary>Topics that may exist at once; 1 to 1,000,000.</summary>
    public int MaxTopics { get; init; } = 50_000;

    /// <summary>Queues of all topics; 1 to 10,000,000.</summary>
    public int MaxQueues { get; init; } = 200_000;

    /// <summary>Queues of one topic; 1 to 20,000.</summary>
    public int MaxQueuesPerTopic { get; init; } = 10_000;

    /// <summary>Consumer groups with a member or progress; 1 to 1,000,000.</summary>
    public int MaxGroups { get; init; } = 100_000;

    /// <summary>Members of one consumer group; 1 to 100,000.</summary>
    public int MaxMembersPerGroup { get; init; } = 1_000;

    /// <summary>Members of all consumer groups; 1 to 10,000,000.</summary>
    public int MaxMembers { get; init; } = 100_000;

    /// <summary>Quotas of clients and topics; 1 to 1,000,000.</summary>
    public int MaxQuotas { get; init; } = 10_000;

    /// <summary>
    /// Fetches that wait at once; 1 to 1,000,000. Beyond it a fetch that would wait gets LimitReached.
    /// </summary>
    public int MaxParkedFetches { get; init; } = 100_000;

    /// <summary>Fetch sessions of one connection; 1 to 1,000. Beyond it the one that rested longest ends.</summary>
    public int MaxFetchSessionsPerConnection { get; init; } = 16;

    /// <summary>Entry bytes of one fetch answer; 64 KiB to 256 MiB. A single larger entry is given whole.</summary>
    public int MaxFetchBytes { get; init; } = 8 << 20;

    /// <summary>Longest wait of a fetch; 1 s to 1 h. Longer wishes are cut.</summary>
    public TimeSpan MaxFetchWait { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>
    /// Requests of one connection that are not answered yet; 16 to 1,000,000. Beyond it the connection is not read.
    /// </summary>
    public int MaxRequestsInFlight { get; init; } = 8_192;

    /// <summary>Longest time that a produce request waits for room in the store; 1 ms to 1 h.</summary>
    public TimeSpan MaxProduceWait { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Longest time that a batch waits for room in the backlog of its topic; 1 ms to 1 day. A request may ask for less.
    /// </summary>
    public TimeSpan MaxBacklogWait { get; init; } = TimeSpan.FromMinutes(10);

    /// <summary>
    /// Memory for batches that wait for room in a backlog, over all topics; 1 MiB or more. Beyond it the connections
    /// that bring more of them are not read.
    /// </summary>
    public long ParkedBytes { get; init; } = 256L << 20;

    /// <summary>
    /// Memory for requests that are being received, over all connections, beside 4 KiB of each; 16 MiB or more. At the
    /// bound connections are read in small pieces, and large requests wait for their turn.
    /// </summary>
    public long ReceiveBytes { get; init; } = 1L << 30;

    internal void Validate()
    {
        Range(MaxMessageBytes, nameof(MaxMessageBytes), 1 << 10, 256 << 20);
        Range(MaxDecompressedBytes, nameof(MaxDecompressedBytes), 0, 64 << 20);
        Range(MaxConnections, nameof(MaxConnections), 1, 1_000_000);
        Range(LocalConnections, nameof(LocalConnections), 0, 100_000);
        Range(MaxConnectionsPerAddress, nameof(MaxConnectionsPerAddress), 0, 1_000_000);
        Range(HelloTimeout, nameof(HelloTimeout), TimeSpan.FromMilliseconds(100), TimeSpan.FromMinutes(10));
        Range(MinReceiveRate, nameof(MinReceiveRate), 0, 1 << 30);
        Range(MemoryBytes, nameof(MemoryBytes), 16 << 20, long.MaxValue);
        Range(ReceiveBytes, nameof(ReceiveBytes), 16 << 20, long.MaxValue);
        Range(MaxTopics, nameof(MaxTopics), 1, 1_000_000);
        Range(MaxQueues, nameof(MaxQueues), 1, 10_000_000);
        Range(MaxQueuesPerTopic, nameof(MaxQueuesPerTopic), 1, 20_000);
        Range(MaxGroups, nameof(MaxGroups), 1, 1_000_000);
        Range(MaxMembersPerGroup, nameof(MaxMembersPerGroup), 1, 100_000);
        Range(MaxQuotas, nameof(MaxQuotas), 1, 1_000_000);
        Range(MaxMembers, nameof(MaxMembers), 1, 10_000_000);
        Range(MaxParkedFetches, nameof(MaxParkedFetches), 1, 1_000_000);
        Range(MaxFetchSessionsPerConnection, nameof(MaxFetchSessionsPerConnection), 1, 1_000);
        Range(MaxFetchBytes, nameof(MaxFetchBytes), 64 << 10, 256 << 20);
        Range(MaxRequestsInFlight, nameof(MaxRequestsInFlight), 16, 1_000_000);
        Range(MaxFetchWait, nameof(MaxFetchWait), TimeSpan.FromSeconds(1), TimeSpan.FromHours(1));
        Range(ParkedBytes, nameof(ParkedBytes), 1 << 20, long.MaxValue);
        Range(MaxBacklogWait, nameof(MaxBacklogWait), TimeSpan.FromMilliseconds(1), TimeSpan.FromDays(1));
        Range(MaxProduceWait, nameof(MaxProduceWait), TimeSpan.FromMilliseconds(1), TimeSpan.FromHours(1));
    }

    private static void Range<T>(T value, string setting, T from, T to)
        where T : IComparable<T> =>
        OptionRules.Require(
            value.CompareTo(from) >= 0 && value.CompareTo(to) <= 0, "Limits." + setting, $"{from} to {to}", value);
}
