using System.Reflection;

namespace EQueue.Broker;

/// <summary>Where a broker's metrics are to be had; docs/telemetry.md lists them.</summary>
public static class BrokerTelemetry
{
    /// <summary>The name of each broker's <see cref="System.Diagnostics.Metrics.Meter"/>.</summary>
    public const string MeterName = "EQueue.Broker";

    /// <summary>The meter's tag that tells several brokers of a process apart: the id of the data directory.</summary>
    public const string StoreIdTag = "equeue.store.id";

    /// <summary>The attribute of a series that names a topic.</summary>
    public const string TopicTag = "messaging.destination.name";

    /// <summary>The attribute of a series that names a consumer group.</summary>
    public const string GroupTag = "messaging.consumer.group.name";

    /// <summary>The topic or group of a series that sums those that are not shown by themselves.</summary>
    public const string Others = "(others)";

    /// <summary>This version of the broker, whole, as in <c>3.0.0-alpha.1</c>; behind a plus sign the commit, where the
    /// build knew it.</summary>
    public static string Version { get; } = typeof(BrokerTelemetry).Assembly
        .GetCustomAttribute<AssemblyInformationalVersionAttribute>()!.InformationalVersion;
}
