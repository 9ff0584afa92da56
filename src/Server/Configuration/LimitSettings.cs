namespace EQueue.Server.Configuration;

/// <summary>What the broker allows, and what happens at each limit.</summary>
internal static class LimitSettings
{
    public static Setting[] All { get; } =
    [
        SettingKinds.Size("Limits:MaxMessageBytes",
            "largest body; at most three eighths of the tail memory and less than a segment",
            1 << 10, 256 << 20,
            (options, value) => options.WithLimits(limits => limits with { MaxMessageBytes = (int)value }),
            options => options.Broker.Limits.MaxMessageBytes) with
        {
            Unit = "bytes",
            AtLimit = "MessageTooLarge",
        },
        SettingKinds.Size("Limits:MaxDecompressedBytes",
            "largest compressed batch when it is uncompressed, for the broker looks into each; 0 refuses compressed "
            + "batches",
            0, 64 << 20,
            (options, value) => options.WithLimits(limits => limits with { MaxDecompressedBytes = (int)value }),
            options => options.Broker.Limits.MaxDecompressedBytes) with
        {
            Unit = "bytes",
            AtLimit = "the batch is refused",
        },
        SettingKinds.Number("Limits:MaxConnections",
            "connections beyond are closed at once",
            1, 1_000_000,
            (options, value) => options.WithLimits(limits => limits with { MaxConnections = (int)value }),
            options => options.Broker.Limits.MaxConnections) with
        {
            Unit = "connections",
            AtLimit = "the next one is closed at once",
            FollowsMemory = true,
        },
        SettingKinds.Number("Limits:LocalConnections",
            "of these, places for peers on this machine alone; at most a quarter of all counts",
            0, 100_000,
            (options, value) => options.WithLimits(limits => limits with { LocalConnections = (int)value }),
            options => options.Broker.Limits.LocalConnections) with
        {
            Unit = "connections",
            AtLimit = "they are kept free of others",
        },
        SettingKinds.Number("Limits:MaxConnectionsPerAddress",
            "of one address, of IPv6 one /64 subnet; 0: an address elsewhere has at most as many as it leaves free",
            0, 1_000_000,
            (options, value) => options.WithLimits(limits => limits with { MaxConnectionsPerAddress = (int)value }),
            options => options.Broker.Limits.MaxConnectionsPerAddress) with
        {
            Unit = "connections",
            AtLimit = "the next one is closed at once",
        },
        SettingKinds.Duration("Limits:HelloTimeout",
            "a connection that has not said Hello so long after it was accepted is closed; TLS counts in",
            TimeSpan.FromMilliseconds(100), TimeSpan.FromMinutes(10),
            (options, value) => options.WithLimits(limits => limits with { HelloTimeout = value }),
            options => options.Broker.Limits.HelloTimeout) with
        {
            Unit = "time",
            AtLimit = "the connection is closed",
        },
        SettingKinds.Size("Limits:MinReceiveRate",
            "a request must come in with so much a second over 10 s, and without a pause when others wait for "
            + "receive memory, or its connection is closed; 0: any",
            0, 1 << 30,
            (options, value) => options.WithLimits(limits => limits with { MinReceiveRate = (int)value }),
            options => options.Broker.Limits.MinReceiveRate) with
        {
            Unit = "bytes a second",
            AtLimit = "the connection is closed",
        },
        SettingKinds.Size("Limits:ReceiveBytes",
            "requests that are being received, beside 4 KiB of each connection; beyond it large "
            + "requests wait for their turn",
            16 << 20, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { ReceiveBytes = value }),
            options => options.Broker.Limits.ReceiveBytes) with
        {
            Unit = "bytes",
            AtLimit = "large requests wait for their turn: senders are slowed, nothing is refused",
            FollowsMemory = true,
        },
        SettingKinds.Size("Limits:MemoryBytes",
            "answers that their peers have not taken yet, beside 16 KiB of each connection",
            16 << 20, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { MemoryBytes = value }),
            options => options.Broker.Limits.MemoryBytes) with
        {
            Unit = "bytes",
            AtLimit = "fetch answers become small, then wait; other long answers are LimitReached; who "
                + "has not taken 16 KiB is not read on, and who takes nothing for a second is "
                + "closed",
            FollowsMemory = true,
        },
        SettingKinds.Size("Limits:RequestBytes",
            "requests of 16 KiB and more that are being handled, messages left out; each counts "
            + "twelve times",
            4 << 20, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { RequestBytes = value }),
            options => options.Broker.Limits.RequestBytes) with
        {
            Unit = "bytes",
            AtLimit = "the next one waits for its turn",
            FollowsMemory = true,
        },
        SettingKinds.Size("Limits:AdminBytes",
            "requests over HTTP that are being answered, read into objects",
            4 << 20, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { AdminBytes = value }),
            options => options.Broker.Limits.AdminBytes) with
        {
            Unit = "bytes",
            AtLimit = "the next one waits for its turn",
            FollowsMemory = true,
        },
        SettingKinds.Size("Limits:ParkedBytes",
            "batches that wait for room in the backlog of their topic",
            1 << 20, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { ParkedBytes = value }),
            options => options.Broker.Limits.ParkedBytes) with
        {
            Unit = "bytes",
            AtLimit = "the connections that bring more are not read",
            FollowsMemory = true,
        },
        SettingKinds.Size("Limits:FetchSessionBytes",
            "fetch sessions with their queues; a connection may have a quarter",
            1 << 20, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { FetchSessionBytes = value }),
            options => options.Broker.Limits.FetchSessionBytes) with
        {
            Unit = "bytes",
            AtLimit = "the connection's session that rested longest ends; without one LimitReached",
            FollowsMemory = true,
        },
        SettingKinds.Size("Limits:MemberBytes",
            "members of groups with their subscriptions, and the queues that their groups read",
            1 << 20, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { MemberBytes = value }),
            options => options.Broker.Limits.MemberBytes) with
        {
            Unit = "bytes",
            AtLimit = "LimitReached for who joins, subscribes to more, or adds queues to a topic that "
                + "is read",
            FollowsMemory = true,
        },
        SettingKinds.Size("Limits:ProducerBytes",
            "producers with the queues that they send to, for duplicate detection; kept over restarts",
            64 << 10, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { ProducerBytes = value }),
            options => options.Broker.Limits.ProducerBytes) with
        {
            Unit = "bytes",
            AtLimit = "a producer that begins in another queue begins anew, and the one that is silent for longest is "
                + "forgotten",
            FollowsMemory = true,
        },
        SettingKinds.Size("Limits:SecurityBytes",
            "users, tokens and rules; kept over restarts",
            64 << 10, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { SecurityBytes = value }),
            options => options.Broker.Limits.SecurityBytes) with
        {
            Unit = "bytes",
            AtLimit = "LimitReached for a new or longer one",
            FollowsMemory = true,
        },
        SettingKinds.Size("Limits:MaxSubscriptionBytes",
            "subscriptions of one member",
            4 << 10, 64 << 20,
            (options, value) => options.WithLimits(limits => limits with { MaxSubscriptionBytes = (int)value }),
            options => options.Broker.Limits.MaxSubscriptionBytes) with
        {
            Unit = "bytes",
            AtLimit = "LimitReached",
        },
        SettingKinds.Size("Limits:ProgressBytes",
            "what groups have committed, with its metadata; kept over restarts",
            1 << 20, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { ProgressBytes = value }),
            options => options.Broker.Limits.ProgressBytes) with
        {
            Unit = "bytes",
            AtLimit = "LimitReached for commits and resets that take more; delete groups, or let them "
                + "expire",
            FollowsMemory = true,
        },
        SettingKinds.Size("Limits:MaxProgressBytesPerGroup",
            "the same of one group",
            64 << 10, long.MaxValue,
            (options, value) => options.WithLimits(limits => limits with { MaxProgressBytesPerGroup = value }),
            options => options.Broker.Limits.MaxProgressBytesPerGroup) with
        {
            Unit = "bytes",
            AtLimit = "LimitReached",
        },
        SettingKinds.Number("Limits:MaxTopics",
            "topics",
            1, 1_000_000,
            (options, value) => options.WithLimits(limits => limits with { MaxTopics = (int)value }),
            options => options.Broker.Limits.MaxTopics) with
        {
            Unit = "topics",
            AtLimit = "TooManyQueues",
            FollowsMemory = true,
        },
        SettingKinds.Number("Limits:MaxQueues",
            "queues of all topics",
            1, 10_000_000,
            (options, value) => options.WithLimits(limits => limits with { MaxQueues = (int)value }),
            options => options.Broker.Limits.MaxQueues) with
        {
            Unit = "queues",
            AtLimit = "TooManyQueues",
            FollowsMemory = true,
        },
        SettingKinds.Number("Limits:MaxQueuesPerTopic",
            "queues of one topic",
            1, 20_000,
            (options, value) => options.WithLimits(limits => limits with { MaxQueuesPerTopic = (int)value }),
            options => options.Broker.Limits.MaxQueuesPerTopic) with
        {
            Unit = "queues",
            AtLimit = "TooManyQueues",
        },
        SettingKinds.Number("Limits:MaxGroups",
            "consumer groups with a member or progress",
            1, 1_000_000,
            (options, value) => options.WithLimits(limits => limits with { MaxGroups = (int)value }),
            options => options.Broker.Limits.MaxGroups) with
        {
            Unit = "groups",
            AtLimit = "LimitReached",
        },
        SettingKinds.Number("Limits:MaxMembersPerGroup",
            "members of one consumer group",
            1, 100_000,
            (options, value) => options.WithLimits(limits => limits with { MaxMembersPerGroup = (int)value }),
            options => options.Broker.Limits.MaxMembersPerGroup) with
        {
            Unit = "members",
            AtLimit = "LimitReached",
        },
        SettingKinds.Number("Limits:MaxMembers",
            "members of all consumer groups",
            1, 10_000_000,
            (options, value) => options.WithLimits(limits => limits with { MaxMembers = (int)value }),
            options => options.Broker.Limits.MaxMembers) with
        {
            Unit = "members",
            AtLimit = "LimitReached",
        },
        SettingKinds.Number("Limits:MaxQuotas",
            "quotas of clients and topics",
            1, 1_000_000,
            (options, value) => options.WithLimits(limits => limits with { MaxQuotas = (int)value }),
            options => options.Broker.Limits.MaxQuotas) with
        {
            Unit = "quotas",
            AtLimit = "LimitReached",
        },
        SettingKinds.Number("Limits:MaxRequestsInFlight",
            "requests of one connection that are not answered yet",
            16, 1_000_000,
            (options, value) => options.WithLimits(limits => limits with { MaxRequestsInFlight = (int)value }),
            options => options.Broker.Limits.MaxRequestsInFlight) with
        {
            Unit = "requests",
            AtLimit = "the connection is not read",
        },
        SettingKinds.Number("Limits:MaxFetchSessionsPerConnection",
            "fetch sessions of one connection",
            1, 1_000,
            (options, value) => options.WithLimits(
                limits => limits with { MaxFetchSessionsPerConnection = (int)value }),
            options => options.Broker.Limits.MaxFetchSessionsPerConnection) with
        {
            Unit = "sessions",
            AtLimit = "the one that rested longest ends; without one LimitReached",
        },
        SettingKinds.Number("Limits:MaxParkedFetches",
            "fetches that wait at once",
            1, 1_000_000,
            (options, value) => options.WithLimits(limits => limits with { MaxParkedFetches = (int)value }),
            options => options.Broker.Limits.MaxParkedFetches) with
        {
            Unit = "fetches",
            AtLimit = "LimitReached",
        },
        SettingKinds.Size("Limits:MaxFetchBytes",
            "entries in one fetch answer",
            64 << 10, 256 << 20,
            (options, value) => options.WithLimits(limits => limits with { MaxFetchBytes = (int)value }),
            options => options.Broker.Limits.MaxFetchBytes) with
        {
            Unit = "bytes",
            AtLimit = "the answer ends; a single larger entry is given whole",
        },
        SettingKinds.Duration("Limits:MaxFetchWait",
            "longest wait of a fetch",
            TimeSpan.FromSeconds(1), TimeSpan.FromHours(1),
            (options, value) => options.WithLimits(limits => limits with { MaxFetchWait = value }),
            options => options.Broker.Limits.MaxFetchWait) with
        {
            Unit = "time",
            AtLimit = "the fetch is answered",
        },
        SettingKinds.Duration("Limits:MaxProduceWait",
            "longest time that a request waits for room in the store",
            TimeSpan.FromMilliseconds(1), TimeSpan.FromHours(1),
            (options, value) => options.WithLimits(limits => limits with { MaxProduceWait = value }),
            options => options.Broker.Limits.MaxProduceWait) with
        {
            Unit = "time",
            AtLimit = "Timeout, or StorageFull: not stored",
        },
        SettingKinds.Duration("Limits:MaxBacklogWait",
            "longest time that a batch waits for room in the backlog of its topic",
            TimeSpan.FromMilliseconds(1), TimeSpan.FromDays(1),
            (options, value) => options.WithLimits(limits => limits with { MaxBacklogWait = value }),
            options => options.Broker.Limits.MaxBacklogWait) with
        {
            Unit = "time",
            AtLimit = "Timeout: not stored",
        },
    ];
}
