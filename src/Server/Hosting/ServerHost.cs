using EQueue.Server.Configuration;
using EQueue.Server.Telemetry;

namespace EQueue.Server.Hosting;

/// <summary>Puts the server together on the generic host and runs it until a signal or a fault ends it.</summary>
internal static class ServerHost
{
    /// <returns>The exit code.</returns>
    public static async Task<int> RunAsync(
        ServerOptions options, IConfiguration configuration, Action<ILoggingBuilder> addLogging)
    {
        using IHost host = Build(options, configuration, addLogging);
        ServerOutcome outcome = host.Services.GetRequiredService<ServerOutcome>();
        ILogger logger = host.Services.GetRequiredService<ILoggerFactory>().CreateLogger("EQueue.Server");
        try
        {
            await host.StartAsync();
        }
        catch (OperationCanceledException) when (IsStopping(host))
        {
            return outcome.ExitCode;
        }
        catch (Exception cause)
        {
            (int exitCode, string reason) = StartFailure.Explain(cause);
            Log.NotStarted(logger, reason);
            if (exitCode == ExitCode.Other) Log.Failed(logger, cause);
            await StopQuietlyAsync(host);
            return exitCode;
        }

        try
        {
            await host.WaitForShutdownAsync();
        }
        catch (Exception cause)
        {
            Log.Failed(logger, cause);
            outcome.Fail(ExitCode.Other);
        }

        return outcome.ExitCode;
    }

    private static IHost Build(
        ServerOptions options, IConfiguration configuration, Action<ILoggingBuilder> addLogging)
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(new HostApplicationBuilderSettings
        {
            ApplicationName = "equeue-server",
        });
        builder.Configuration.AddConfiguration(configuration);
        addLogging(builder.Logging);
        builder.Services.Configure<ConsoleLifetimeOptions>(lifetime => lifetime.SuppressStatusMessages = true);
        builder.Services.Configure<HostOptions>(host =>
        {
            // The broker bounds its own drain; the host must not cut the snapshot that follows it.
            host.ShutdownTimeout = options.Broker.DrainTimeout + TimeSpan.FromMinutes(2);
        });
        builder.Services.AddEQueueServer(options);
        return builder.Build();
    }

    /// <summary>Adds the services of the server; they start in this order and stop in the reverse one.</summary>
    private static void AddEQueueServer(this IServiceCollection services, ServerOptions options)
    {
        services.AddSingleton(options);
        services.AddSingleton<ServerOutcome>();
        services.AddSingleton<BrokerService>();
        services.AddSingleton<AdminService>();
        services.AddHostedService(provider => provider.GetRequiredService<AdminService>());
        services.AddHostedService(provider => provider.GetRequiredService<BrokerService>());
        services.AddHostedService<MetricsExport>();
        services.AddHostedService<ReadyLine>();
    }

    private static bool IsStopping(IHost host)
        => host.Services.GetRequiredService<IHostApplicationLifetime>().ApplicationStopping.IsCancellationRequested;

    /// <summary>Closes what was opened before the start failed; the start's failure is the one to report.</summary>
    private static async Task StopQuietlyAsync(IHost host)
    {
        try
        {
            await host.StopAsync();
        }
        catch (Exception exception) when (exception is IOException or OperationCanceledException or AggregateException)
        {
            ILogger logger = host.Services.GetRequiredService<ILoggerFactory>().CreateLogger("EQueue.Server");
            Log.Failed(logger, exception);
        }
    }
}
