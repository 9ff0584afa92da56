using EQueue.MessageStore;

namespace EQueue.Broker;

/// <summary>
/// What a broker allows. At a limit the answer is a typed error or the asker waits; nothing grows without bound.
/// </summary>
public sealed record LimitOptions
{
    /// <summary>Room in a batch beside the body of a single message.</summary>
    internal const int BatchOverheadBytes = 64 << 10;

    // Null: not set; the default then is at most what MemoryPlan allows.
    private readonly int? _maxConnections;
    private readonly int? _maxQueues;
    private readonly int? _maxTopics;
    private readonly long? _memoryBytes;
    private readonly long? _parkedBytes;
    private readonly long? _receiveBytes;
    private readonly long? _requestBytes;
    private readonly long? _fetchSessionBytes;
    private readonly long? _memberBytes;
    private readonly long? _adminBytes;
    private readonly long? _producerBytes;
    private readonly long? _progressBytes;
    private readonly long? _securityBytes;

    /// <summary>Largest message body; 1 KiB to 256 MiB. Topics may ask for less. Default: 4 MiB.</summary>
    public int MaxMessageBytes { get; init; } = 4 << 20;

    /// <summary>
    /// Largest size of a compressed batch when it is uncompressed, in bytes; up to 64 MiB, which every reader takes as
    /// it is set up. 0 refuses compressed batches. Default: 32 MiB.
    /// </summary>
    public int MaxDecompressedBytes { get; init; } = 32 << 20;

    /// <summary>Connections at once; 1 to 1,000,000. Default: 18,000.</summary>
    public int MaxConnections
    {
        get => _maxConnections ?? 18_000;
        init => _maxConnections = value;
    }

    /// <summary>
    /// Of these, places for peers on this machine alone (loopback, Unix sockets, the admin port); 0 to 100,000. At most
    /// a quarter of all counts. Default: 64.
    /// </summary>
    public int LocalConnections { get; init; } = 64;

    /// <summary>
    /// Connections of one address (of IPv6: of one /64 subnet); 0 to 1,000,000. With 0 an address elsewhere has at most
    /// as many as it leaves free, and this machine's have no bound of their own. Default: 0.
    /// </summary>
    public int MaxConnectionsPerAddress { get; init; }

    /// <summary>
    /// How long after it was accepted a connection must have said Hello; TLS counts in, pings change nothing. 100 ms to
    /// 10 min. Default: 10 s.
    /// </summary>
    public TimeSpan HelloTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// Bytes per second that a frame must come in with once it has begun, over 10 s; 0 to 1 GiB. When requests wait for
    /// receive memory, connections whose frames have stalled are closed for them. 0: neither. Default: 16,384.
    /// </summary>
    public int MinReceiveRate { get; init; } = 16 << 10;

    /// <summary>
    /// Memory for answers that their peers have not taken yet, over all connections, beside 16 KiB of each; 16 MiB or
    /// more. Beyond it fetch answers are small or wait, others are refused with LimitReached, connections with untaken
    /// answers are not read, and a peer that takes nothing for a second is closed. Default: 512 MiB.
    /// </summary>
    public long MemoryBytes
    {
        get => _memoryBytes ?? 512L << 20;
        init => _memoryBytes = value;
    }

    /// <summary>Topics that may exist at once; 1 to 1,000,000. Default: 50,000.</summary>
    public int MaxTopics
    {
        get => _maxTopics ?? 50_000;
        init => _maxTopics = value;
    }

    /// <summary>Queues of all topics; 1 to 10,000,000. Default: 200,000.</summary>
    public int MaxQueues
    {
        get => _maxQueues ?? 200_000;
        init => _maxQueues = value;
    }

    /// <summary>Queues of one topic; 1 to 20,000. Default: 10,000.</summary>
    public int MaxQueuesPerTopic { get; init; } = 10_000;

    /// <summary>Consumer groups with a member or progress; 1 to 1,000,000. Default: 100,000.</summary>
    public int MaxGroups { get; init; } = 100_000;

    /// <summary>Members of one consumer group; 1 to 100,000. Default: 1,000.</summary>
    public int MaxMembersPerGroup { get; init; } = 1_000;

    /// <summary>Members of all consumer groups; 1 to 10,000,000. Default: 100,000.</summary>
    public int MaxMembers { get; init; } = 100_000;

    /// <summary>Quotas of clients and topics; 1 to 1,000,000. Default: 10,000.</summary>
    public int MaxQuotas { get; init; } = 10_000;

    /// <summary>
    /// Fetches that wait at once; 1 to 1,000,000. Beyond it a fetch that would wait gets LimitReached.
    /// Default: 100,000.
    /// </summary>
    public int MaxParkedFetches { get; init; } = 100_000;

    /// <summary>Fetch sessions of one connection; 1 to 1,000. Beyond it the one that rested longest ends.
    /// Default: 16.</summary>
    public int MaxFetchSessionsPerConnection { get; init; } = 16;

    /// <summary>Entry bytes of one fetch answer; 64 KiB to 256 MiB. A single larger entry is given whole.
    /// Default: 8 MiB.</summary>
    public int MaxFetchBytes { get; init; } = 8 << 20;

    /// <summary>Longest wait of a fetch; 1 s to 1 h. Longer wishes are cut. Default: 1 min.</summary>
    public TimeSpan MaxFetchWait { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>
    /// Requests of one connection that are not answered yet; 16 to 1,000,000. Beyond it the connection is not read.
    /// Default: 8,192.
    /// </summary>
    public int MaxRequestsInFlight { get; init; } = 8_192;

    /// <summary>Longest time that a produce request waits for room in the store; 1 ms to 1 h. Default: 30 s.</summary>
    public TimeSpan MaxProduceWait { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// Longest time that a batch waits for room in the backlog of its topic; 1 ms to 1 day. A request may ask for less.
    /// Default: 10 min.
    /// </summary>
    public TimeSpan MaxBacklogWait { get; init; } = TimeSpan.FromMinutes(10);

    /// <summary>
    /// Memory for batches that wait for room in a backlog, over all topics; 1 MiB or more. Beyond it the connections
    /// that bring more of them are not read. Default: 256 MiB.
    /// </summary>
    public long ParkedBytes
    {
        get => _parkedBytes ?? 256L << 20;
        init => _parkedBytes = value;
    }

    /// <summary>
    /// Memory for requests that are being received, over all connections, beside 4 KiB of each; 16 MiB or more. At the
    /// bound connections are read in small pieces, and large requests wait for their turn. Default: 1 GiB.
    /// </summary>
    public long ReceiveBytes
    {
        get => _receiveBytes ?? 1L << 30;
        init => _receiveBytes = value;
    }

    /// <summary>
    /// Memory for long requests (16 KiB and more) that are being handled, other than messages, over all connections;
    /// 4 MiB or more. Beyond it they wait for their turn. Default: 256 MiB.
    /// </summary>
    public long RequestBytes
    {
        get => _requestBytes ?? 256L << 20;
        init => _requestBytes = value;
    }

    /// <summary>
    /// Memory for requests over HTTP that are being answered, read into objects; 4 MiB or more. Beyond it they wait for
    /// their turn. Default: 256 MiB.
    /// </summary>
    public long AdminBytes
    {
        get => _adminBytes ?? 256L << 20;
        init => _adminBytes = value;
    }

    /// <summary>
    /// Memory for fetch sessions with their queues, over all connections; 1 MiB or more; one connection has at most a
    /// quarter of it. Beyond it a session that would grow gets LimitReached. Default: 256 MiB.
    /// </summary>
    public long FetchSessionBytes
    {
        get => _fetchSessionBytes ?? 256L << 20;
        init => _fetchSessionBytes = value;
    }

    /// <summary>
    /// Memory for members of groups: their subscriptions, and the queues that their groups read; 1 MiB or more. Beyond
    /// it who joins or subscribes to more gets LimitReached. Default: 256 MiB.
    /// </summary>
    public long MemberBytes
    {
        get => _memberBytes ?? 256L << 20;
        init => _memberBytes = value;
    }

    /// <summary>
    /// Memory for producers, each with the queues that it sends to, for duplicate detection; 64 KiB or more. Beyond it
    /// a producer that begins in another queue begins anew, and the one that is silent for longest is forgotten.
    /// Default: 256 MiB.
    /// </summary>
    public long ProducerBytes
    {
        get => _producerBytes ?? 256L << 20;
        init => _producerBytes = value;
    }

    /// <summary>Memory for the subscriptions of one member; 4 KiB to 64 MiB. Beyond it the member gets LimitReached.
    /// Default: 1 MiB.
    /// </summary>
    public int MaxSubscriptionBytes { get; init; } = 1 << 20;

    /// <summary>
    /// Memory for what groups have committed, with its metadata, over all groups; 1 MiB or more. It is kept over
    /// restarts. Beyond it a commit that would take more gets LimitReached. Default: 512 MiB.
    /// </summary>
    public long ProgressBytes
    {
        get => _progressBytes ?? 512L << 20;
        init => _progressBytes = value;
    }

    /// <summary>The same of one group; 64 KiB or more. Default: 64 MiB.</summary>
    public long MaxProgressBytesPerGroup { get; init; } = 64L << 20;

    /// <summary>
    /// Memory for users, tokens and rules; 64 KiB or more. It is kept over restarts. Beyond it a new or longer one gets
    /// LimitReached. Default: 128 MiB.
    /// </summary>
    public long SecurityBytes
    {
        get => _securityBytes ?? 128L << 20;
        init => _securityBytes = value;
    }

    /// <summary>The limits that hold where the heap may grow to so many bytes: defaults are at most their share of
    /// them, what was set stays.</summary>
    /// <param name="usableBytes">DOTNET_GCHeapHardLimit, or three quarters of the container or the machine.</param>
    /// <param name="store">What the store takes of it.</param>
    public LimitOptions ForMemory(long usableBytes, StoreOptions store) =>
        MemoryPlan.Apply(this, store, usableBytes);

    /// <summary>The limits with what was not set cut to what the memory allows.</summary>
    /// <param name="most">By the limit's name.</param>
    internal LimitOptions CutDefaults(IReadOnlyDictionary<string, long> most) => this with
    {
        MaxConnections = _maxConnections ?? (int)Cut(MaxConnections, most[nameof(MaxConnections)]),
        MaxTopics = _maxTopics ?? (int)Cut(MaxTopics, most[nameof(MaxTopics)]),
        MaxQueues = _maxQueues ?? (int)Cut(MaxQueues, most[nameof(MaxQueues)]),
        MemoryBytes = _memoryBytes ?? Cut(MemoryBytes, most[nameof(MemoryBytes)]),
        ParkedBytes = _parkedBytes ?? Cut(ParkedBytes, most[nameof(ParkedBytes)]),
        ReceiveBytes = _receiveBytes ?? Cut(ReceiveBytes, most[nameof(ReceiveBytes)]),
        RequestBytes = _requestBytes ?? Cut(RequestBytes, most[nameof(RequestBytes)]),
        FetchSessionBytes = _fetchSessionBytes ?? Cut(FetchSessionBytes, most[nameof(FetchSessionBytes)]),
        AdminBytes = _adminBytes ?? Cut(AdminBytes, most[nameof(AdminBytes)]),
        ProducerBytes = _producerBytes ?? Cut(ProducerBytes, most[nameof(ProducerBytes)]),
        MemberBytes = _memberBytes ?? Cut(MemberBytes, most[nameof(MemberBytes)]),
        ProgressBytes = _progressBytes ?? Cut(ProgressBytes, most[nameof(ProgressBytes)]),
        SecurityBytes = _securityBytes ?? Cut(SecurityBytes, most[nameof(SecurityBytes)]),
    };

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
        Range(RequestBytes, nameof(RequestBytes), 4 << 20, long.MaxValue);
        Range(AdminBytes, nameof(AdminBytes), 4 << 20, long.MaxValue);
        Range(FetchSessionBytes, nameof(FetchSessionBytes), 1 << 20, long.MaxValue);
        Range(ProducerBytes, nameof(ProducerBytes), 64 << 10, long.MaxValue);
        Range(MemberBytes, nameof(MemberBytes), 1 << 20, long.MaxValue);
        Range(MaxSubscriptionBytes, nameof(MaxSubscriptionBytes), 4 << 10, 64 << 20);
        Range(ProgressBytes, nameof(ProgressBytes), 1 << 20, long.MaxValue);
        Range(SecurityBytes, nameof(SecurityBytes), 64 << 10, long.MaxValue);
        Range(MaxProgressBytesPerGroup, nameof(MaxProgressBytesPerGroup), 64 << 10, long.MaxValue);
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

    private static long Cut(long usual, long most) => Math.Max(1, Math.Min(usual, most));

    private static void Range<T>(T value, string setting, T from, T to)
        where T : IComparable<T> =>
        OptionRules.Require(
            value.CompareTo(from) >= 0 && value.CompareTo(to) <= 0, "Limits." + setting, $"{from} to {to}", value);
}
