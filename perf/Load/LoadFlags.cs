namespace EQueue.Load;

/// <summary>The flags of the command line that a scenario may take.</summary>
[Flags]
internal enum LoadFlags
{
    None = 0,

    /// <summary><c>--size</c> with one number.</summary>
    Size = 1 << 0,

    /// <summary><c>--size</c> with several, a row each.</summary>
    Sizes = 1 << 1,

    Producers = 1 << 2,
    Consumers = 1 << 3,
    Pairs = 1 << 4,
    Queues = 1 << 5,
    Topics = 1 << 6,
    Brokers = 1 << 7,
    Seconds = 1 << 8,
    Messages = 1 << 9,
    Repeat = 1 << 10,
    Warmup = 1 << 11,
    Api = 1 << 12,
    Flush = 1 << 13,

    /// <summary><c>--in-flight</c> with one number.</summary>
    InFlight = 1 << 14,

    /// <summary><c>--in-flight</c> with several, a row each.</summary>
    InFlights = 1 << 15,

    /// <summary><c>--rate</c> with one number.</summary>
    Rate = 1 << 16,

    /// <summary><c>--rate</c> with several, a row each.</summary>
    Rates = 1 << 17,

    LogGB = 1 << 18,
    Changes = 1 << 19,
    Connections = 1 << 20,
    Quick = 1 << 21,
    Curves = 1 << 22,
    Server = 1 << 23,
    NoLimit = 1 << 24,
    LimitRun = 1 << 25,

    /// <summary>What most scenarios with a broker take.</summary>
    Load = Producers | Consumers | Queues | Seconds | Messages | Repeat | Warmup | Flush,

    /// <summary>What scripts may give to any scenario that does not refuse it.</summary>
    Any = Sizes | Load | Topics | Api | InFlights | Rates | Server | NoLimit,
}
