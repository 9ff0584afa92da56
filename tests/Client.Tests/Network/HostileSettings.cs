namespace EQueue.Client.Tests.Network;

/// <summary>What one run does, by its seed alone.</summary>
internal sealed record HostileSettings
{
    public HostileSettings(int seed)
    {
        Seed = seed;
        var random = new Random(seed);
        Queues = random.Next(1, 5);
        Senders = random.Next(1, 4);
        MessagesOfSender = random.Next(15, 60);
        Members = random.Next(1, 3);
        HostileMs = random.Next(150, 1_200);
        IsPatient = random.Next(3) != 0;
        AbortAfterMs = random.Next(10) == 0 ? random.Next(HostileMs) : -1;
        Producer = new ProducerOptions
        {
            BatchBytes = random.Next(1, 9) * 1024,
            MaxInFlight = random.Next(1, 9),
            BufferMemoryBytes = random.Next(4) == 0 ? 64 * 1024 : 4 * 1024 * 1024,
            RequestTimeout = TimeSpan.FromMilliseconds(random.Next(100, 500)),
            DeliveryTimeout = IsPatient ? TimeSpan.FromSeconds(30) : TimeSpan.FromMilliseconds(random.Next(200, 900)),
            RetryBackoffMin = TimeSpan.FromMilliseconds(2),
            RetryBackoffMax = TimeSpan.FromMilliseconds(50),
            InlineCompletions = random.Next(4) == 0,
            Linger = random.Next(4) == 0 ? TimeSpan.FromMilliseconds(2) : TimeSpan.Zero,
        };
        Consumer = new ConsumerOptions
        {
            FetchBytes = random.Next(2) == 0 ? 4 * 1024 : 1024 * 1024,
            PrefetchBytes = random.Next(2) == 0 ? 0 : 1024 * 1024,
            MaxFetchWait = TimeSpan.FromMilliseconds(random.Next(20, 1_000)),
            AutoCommitInterval = TimeSpan.FromMilliseconds(random.Next(10, 200)),
            SessionTimeout = TimeSpan.FromSeconds(1),
            ReleaseTimeout = TimeSpan.FromSeconds(2),
        };
    }

    public int Seed { get; }

    public int Queues { get; }

    public int Senders { get; }

    public int MessagesOfSender { get; }

    /// <summary>Members of the group that reads.</summary>
    public int Members { get; }

    /// <summary>How long the network is hostile.</summary>
    public int HostileMs { get; }

    /// <summary>Whether the producer's delivery timeout outlasts the hostility: then every send succeeds.</summary>
    public bool IsPatient { get; }

    /// <summary>When the producer is aborted; below 0 = never.</summary>
    public int AbortAfterMs { get; }

    public ProducerOptions Producer { get; }

    public ConsumerOptions Consumer { get; }

    public ClientOptions Client(string address, RunLog log) => new()
    {
        Addresses = address,
        LoggerFactory = log,
        ConnectTimeout = TimeSpan.FromMilliseconds(300),
        RequestTimeout = TimeSpan.FromSeconds(1),
        KeepAliveInterval = TimeSpan.FromMilliseconds(100),
        KeepAliveTimeout = TimeSpan.FromMilliseconds(150),
        ReconnectBackoffMin = TimeSpan.FromMilliseconds(2),
        ReconnectBackoffMax = TimeSpan.FromMilliseconds(50),
    };
}
