using EQueue.MessageStore;
using EQueue.Remoting;

namespace EQueue.Broker;

/// <summary>How a broker runs. Checked by <see cref="Validate"/> when it starts.</summary>
public sealed record BrokerOptions
{
    /// <summary>
    /// Where clients connect: <c>HOST:PORT</c>, port 0 for any free one, or <c>unix:/path</c>; several are separated by
    /// commas. Empty for no socket at all, with <see cref="InMemory"/>. Default: 127.0.0.1:9490.
    /// </summary>
    public string Listen { get; init; } = "127.0.0.1:9490";

    /// <summary>Where clients within this process connect without a socket; null = nowhere. They are given the same
    /// object. Default: null.</summary>
    public InMemoryEndPoint? InMemory { get; init; }

    /// <summary>How each HOST:PORT speaks TLS; null = they do not. Unix sockets never do. Default: null.</summary>
    public ServerTlsOptions? Tls { get; init; }

    /// <summary>
    /// The folder of the broker's store, for this broker alone; replaces the one that <see cref="Store"/> names.
    /// Default: ./data.
    /// </summary>
    public string DataDirectory { get; init; } = "./data";

    /// <summary>How messages are kept. Default: its own defaults.</summary>
    public StoreOptions Store { get; init; } = new() { DataDirectory = "./data" };

    /// <summary>What the broker allows. Default: its own defaults.</summary>
    public LimitOptions Limits { get; init; } = new();

    /// <summary>What a topic is made of when its maker does not say. Default: its own defaults.</summary>
    public TopicOptions Topics { get; init; } = new();

    /// <summary>How consumer groups are kept. Default: its own defaults.</summary>
    public GroupOptions Groups { get; init; } = new();

    /// <summary>Who may connect. Default: its own defaults.</summary>
    public SecurityOptions Security { get; init; } = new();

    /// <summary>What the broker's metrics show. Default: its own defaults.</summary>
    public TelemetryOptions Telemetry { get; init; } = new();

    /// <summary>How long a stop waits for answers that are under way; 0 to 10 min. Default: 10 s.</summary>
    public TimeSpan DrainTimeout { get; init; } = TimeSpan.FromSeconds(10);

    /// <summary>The store's settings with the broker's folder and limits.</summary>
    internal StoreOptions EffectiveStore =>
        Store with { DataDirectory = DataDirectory, MaxProducerBytes = Limits.ProducerBytes };

    /// <summary>Longest frame the broker takes: a batch and its heads, and never less than 8 MiB.</summary>
    internal int MaxFrameBytes => Math.Max(8 << 20, Store.MaxBatchBytes + (64 << 10));

    /// <summary>Throws when a setting is out of its range.</summary>
    /// <exception cref="ArgumentException">Names the setting, its range and what was found.</exception>
    public void Validate()
    {
        OptionRules.Require(
            AreAddresses(Listen) || (Listen is "" && InMemory is not null),
            nameof(Listen),
            "HOST:PORT with a port of 0 to 65535, or unix:/path",
            Listen);
        OptionRules.Require(
            !string.IsNullOrWhiteSpace(DataDirectory), nameof(DataDirectory), "a folder", DataDirectory);
        OptionRules.Require(
            DrainTimeout >= TimeSpan.Zero && DrainTimeout <= TimeSpan.FromMinutes(10),
            nameof(DrainTimeout), "0 to 10 minutes", DrainTimeout);
        Tls?.Validate();
        EffectiveStore.Validate();
        Limits.Validate();
        Topics.Validate(Limits);
        Groups.Validate();
        Telemetry.Validate();
        Security.Validate();
        int smallestBatch = Limits.MaxMessageBytes + LimitOptions.BatchOverheadBytes;
        OptionRules.Require(
            Store.MaxBatchBytes >= smallestBatch,
            "Store.MaxBatchBytes", $"{smallestBatch} or more (Limits.MaxMessageBytes and 64 KiB)", Store.MaxBatchBytes);
    }

    private static bool AreAddresses(string? text) =>
        text is not null && HostPort.Split(text) is { Length: > 0 } addresses
        && Array.TrueForAll(addresses, static address => HostPort.TryParse(address, out _));
}
