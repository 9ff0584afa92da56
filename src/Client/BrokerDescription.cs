using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>What a broker is and allows.</summary>
public sealed record BrokerDescription
{
    /// <summary>The broker, which keeps this id.</summary>
    public Guid BrokerId { get; init; }

    /// <summary>The data directory, which keeps this id: the ids of queues have a meaning only within it.</summary>
    public Guid StoreId { get; init; }

    /// <summary>Rises at each start of the broker; of a node of a cluster, the epoch that it leads.</summary>
    public ulong Incarnation { get; init; }

    /// <summary>The broker's software and version.</summary>
    public string Version { get; init; } = "";

    /// <summary>The protocol version that this client and the broker speak.</summary>
    public int ProtocolVersion { get; init; }

    /// <summary>The longest frame that the broker takes, in bytes.</summary>
    public long MaxFrameBytes { get; init; }

    /// <summary>The largest message body, in bytes.</summary>
    public long MaxMessageBytes { get; init; }

    /// <summary>The largest batch, header included, in bytes.</summary>
    public long MaxBatchBytes { get; init; }

    /// <summary>The broker's clock when it answered: at the connection's begin.</summary>
    public DateTimeOffset Time { get; init; }

    internal static BrokerDescription Of(HelloResponse hello) => new()
    {
        BrokerId = hello.BrokerId,
        StoreId = hello.StoreId,
        Incarnation = hello.Incarnation,
        Version = hello.BrokerVersion,
        ProtocolVersion = hello.Version,
        MaxFrameBytes = hello.MaxFrameBytes,
        MaxMessageBytes = hello.MaxMessageBytes,
        MaxBatchBytes = hello.MaxBatchBytes,
        Time = RecordTime.ToInstant(hello.ServerTimeMs),
    };
}
