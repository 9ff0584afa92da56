using EQueue.Server.Configuration;
using EQueue.Server.Engine;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging.Abstractions;

namespace EQueue.Server.Tests;

/// <summary>What many tests begin with.</summary>
internal static class Given
{
    /// <summary>The options that settings make, without files, environment or command line.</summary>
    /// <param name="settings">Keys without <c>EQueue:</c>, and their values; of a key given twice the last
    /// one.</param>
    public static ServerOptions Settings(params (string Key, string Value)[] settings) =>
        SettingsSource.Read(new ConfigurationBuilder()
            .AddInMemoryCollection(settings
                .GroupBy(one => $"EQueue:{one.Key}")
                .ToDictionary(one => one.Key, one => (string?)one.Last().Value))
            .Build());

    /// <summary>A broker that logs nothing and has not been started.</summary>
    public static BrokerService Broker(ServerOptions options, IHostApplicationLifetime lifetime) => new(
        options, new ServerOutcome(), lifetime, NullLoggerFactory.Instance, NullLogger<BrokerService>.Instance,
        TimeProvider.System);
}
