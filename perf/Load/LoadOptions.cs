namespace EQueue.Load;

/// <summary>What the command line asked for. Null means not given: the scenario has its own default.</summary>
internal sealed record LoadOptions
{
    /// <summary>The smallest body that holds the checker's stamp, bytes.</summary>
    public const int MinBodySize = 10;

    /// <summary>The largest body that a broker with its own defaults takes, bytes.</summary>
    public const int MaxBodySize = 4 << 20;

    public IReadOnlyList<int>? Sizes { get; init; }

    public int? Producers { get; init; }

    public int? Consumers { get; init; }

    /// <summary>Numbers of producers with as many consumers, a row each.</summary>
    public IReadOnlyList<int>? Pairs { get; init; }

    public int? Queues { get; init; }

    public int? Topics { get; init; }

    /// <summary>Numbers of brokers, a row each.</summary>
    public IReadOnlyList<int>? Brokers { get; init; }

    /// <summary>Seconds of sending in a measured run.</summary>
    public double? Seconds { get; init; }

    /// <summary>Messages of a measured run, all producers together; takes the place of <see cref="Seconds"/>.</summary>
    public long? Messages { get; init; }

    public int? Repeat { get; init; }

    /// <summary>Seconds of the same load before each measured run.</summary>
    public double? Warmup { get; init; }

    public SendApi Api { get; init; } = SendApi.Message;

    public FlushMode? Flush { get; init; }

    public IReadOnlyList<int>? InFlight { get; init; }

    public IReadOnlyList<int>? Rates { get; init; }

    /// <summary>Size of the log that a scenario works on, GB (10^9 bytes of bodies).</summary>
    public double? LogGB { get; init; }

    public string? DataDirectory { get; init; }

    public string? Server { get; init; }

    public bool NoLimit { get; init; }

    public int Seed { get; init; } = 1;

    public string? JsonFile { get; init; }

    public string? ReportFile { get; init; }

    /// <summary>Changes of a group's members in a measured run.</summary>
    public int? Changes { get; init; }

    /// <summary>Idle connections to open.</summary>
    public int? Connections { get; init; }

    /// <summary>The parts of a scenario that are wanted.</summary>
    public IReadOnlyList<string>? Parts { get; init; }

    /// <summary>Whether every scenario is to be short.</summary>
    public bool Quick { get; init; }

    /// <summary>Where curves are written.</summary>
    public string? CurveDirectory { get; init; }

    public Faults Faults { get; init; } = Faults.None;

    /// <summary>What a consumer's checker is to be deceived with.</summary>
    public Faults ConsumerFaults => Faults & ~Faults.Short;

    public int WarmMemoryGB { get; init; }

    public int LimitBlockKB { get; init; } = 256;

    public int LimitTotalMB { get; init; } = 2048;
}
