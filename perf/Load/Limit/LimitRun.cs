using System.Text.Json;
using EQueue.Load.Roles;

namespace EQueue.Load.Limit;

/// <summary>
/// Measures what this machine can do at all for "one producer, one broker, one consumer": three processes, two
/// loopback connections, one growing file. See docs/notes/scenarios.md.
/// </summary>
internal static class LimitRun
{
    /// <summary>Why the yardstick cannot be measured here, or null.</summary>
    public static string? Unavailable => OperatingSystem.IsLinux() ? null : "the limit is measured on Linux only";

    /// <returns>Megabytes (10^6) a second from end to end.</returns>
    public static async Task<double> MeasureAsync(LoadSession session, CancellationToken cancellationToken)
    {
        LoadOptions options = session.Options;
        long totalBytes = (long)options.LimitTotalMB << 20;
        string file = session.Workspace.NewPath("limit");
        await using RoleProcess consumer = session.Start(RoleList.LimitConsumer);
        await using RoleProcess broker = session.Start(RoleList.LimitBroker);
        await using RoleProcess producer = session.Start(RoleList.LimitProducer);
        ListenResult consumerPort = await consumer.CallAsync<ListenResult>("listen", null, cancellationToken);
        ListenResult brokerPort = await broker.CallAsync<ListenResult>("listen", null, cancellationToken);
        var order = new LimitOrder(0, null, options.LimitBlockKB << 10, totalBytes);
        Task<LimitResult> consumed = consumer.CallAsync<LimitResult>("run", order, cancellationToken);
        Task<JsonElement> brokered = broker.CallAsync("run", order with { Port = consumerPort.Port, File = file }, cancellationToken);
        Task<JsonElement> produced = producer.CallAsync("run", order with { Port = brokerPort.Port }, cancellationToken);
        await foreach (Task? part in Task.WhenEach(consumed, brokered, produced).WithCancellation(cancellationToken))
            await part;
        Workspace.Remove(file);
        LimitResult result = await consumed;
        return result.Bytes / result.Seconds / 1e6;
    }
}
