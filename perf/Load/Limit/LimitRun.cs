using EQueue.Load.Roles;

namespace EQueue.Load.Limit;

/// <summary>
/// Measures what this machine can do at all for "one producer, one broker, one consumer": three processes, two
/// loopback connections, one growing file. See docs/performance.md.
/// </summary>
internal static class LimitRun
{
    /// <summary>Why the yardstick cannot be measured here, or null.</summary>
    public static string? Unavailable => OperatingSystem.IsLinux() ? null : "the limit is measured on Linux only";

    /// <returns>Megabytes (10^6) a second from end to end.</returns>
    public static async Task<double> MeasureAsync(LoadSession session, CancellationToken cancellationToken)
    {
        var options = session.Options;
        var totalBytes = (long)options.LimitTotalMB << 20;
        var file = session.Workspace.NewPath("limit");
        await using var consumer = session.Start(RoleList.LimitConsumer);
        await using var broker = session.Start(RoleList.LimitBroker);
        await using var producer = session.Start(RoleList.LimitProducer);
        var consumerPort = await consumer.CallAsync<ListenResult>("listen", null, cancellationToken);
        var brokerPort = await broker.CallAsync<ListenResult>("listen", null, cancellationToken);
        var order = new LimitOrder(0, null, options.LimitBlockKB << 10, totalBytes);
        var consumed = consumer.CallAsync<LimitResult>("run", order, cancellationToken);
        var brokered = broker.CallAsync("run", order with { Port = consumerPort.Port, File = file }, cancellationToken);
        var produced = producer.CallAsync("run", order with { Port = brokerPort.Port }, cancellationToken);
        await foreach (var part in Task.WhenEach(consumed, brokered, produced).WithCancellation(cancellationToken))
            await part;
        Workspace.Remove(file);
        var result = await consumed;
        return result.Bytes / result.Seconds / 1e6;
    }
}
