using EQueue.Server.Admin;
using EQueue.Server.Configuration;
using EQueue.Server.Engine;
using EQueue.Server.Services;
using EQueue.Server.Telemetry;
using Microsoft.Extensions.Hosting.WindowsServices;

namespace EQueue.Server.Hosting;

/// <summary>Puts the server together on the generic host and runs it until a signal or a fault ends it.</summary>
internal static class ServerHost
{
    /// <returns>The exit code.</returns>
    public static async Task<int> RunAsync(
        ServerOptions options,
        CommandLine commandLine,
        LiveConfiguration configuration,
        Action<ILoggingBuilder> addLogging)
    {
        using IHost host = Build(options, commandLine, configuration, addLogging);
        ServerOutcome outcome = host.Services.GetRequiredService<ServerOutcome>();
        ILogger logger = host.Services.GetRequiredService<ILoggerFactory>().CreateLogger("EQueue.Server");
        try
        {
            await host.StartAsync();
        }
        catch (OperationCanceledException) when (IsStopping(host))
        {
            // What has started meanwhile may have accepted something already.
            if (!await TryStopAsync(host))
                outcome.Fail(ExitCode.Other);
            return outcome.ExitCode;
        }
        catch (Exception cause)
        {
            (int exitCode, string reason) = StartFailure.Explain(cause);
            Log.NotStarted(logger, reason);
            if (exitCode == ExitCode.Other)
                Log.Failed(logger, cause);
            await TryStopAsync(host);
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
        ServerOptions options,
        CommandLine commandLine,
        LiveConfiguration configuration,
        Action<ILoggingBuilder> addLogging)
    {
        HostApplicationBuilder builder = Host.CreateEmptyApplicationBuilder(new HostApplicationBuilderSettings
        {
            ApplicationName = "equeue-server",
        });
        builder.Configuration.AddConfiguration(configuration.Root);
        addLogging(builder.Logging);
        builder.Services.Configure<ConsoleLifetimeOptions>(lifetime => lifetime.SuppressStatusMessages = true);
        builder.Services.Configure<HostOptions>(host =>
        {
            host.ShutdownTimeout = options.StopTime;
        });
        builder.Services.AddEQueueServer(options);
        if (OperatingSystem.IsWindows() && WindowsServiceHelpers.IsWindowsService())
            builder.Services.AddSingleton<IHostLifetime, WindowsLifetime>();
        builder.Services.AddHostedService(provider => new SettingsWatch(
            () => SettingsSource.Load(commandLine),
            SettingsSource.FilesOf(commandLine),
            configuration,
            options,
            provider.GetRequiredService<BrokerService>(),
            provider.GetRequiredService<TimeProvider>(),
            provider.GetRequiredService<ILogger<SettingsWatch>>()));
        return builder.Build();
    }

    /// <summary>Adds the services of the server; they start in this order and stop in the reverse one.</summary>
    private static void AddEQueueServer(this IServiceCollection services, ServerOptions options)
    {
        services.AddSingleton(options);
        services.AddSingleton(TimeProvider.System);
        services.AddSingleton<ServerOutcome>();
        services.AddSingleton<BrokerService>();
        services.AddSingleton<AdminService>();
        services.AddHostedService(provider => new ServiceNotices(
            NotifySocket.Find(
                Environment.GetEnvironmentVariable,
                Environment.ProcessId,
                provider.GetRequiredService<ILogger<NotifySocket>>()),
            provider.GetRequiredService<BrokerService>(),
            provider.GetRequiredService<IHostApplicationLifetime>(),
            provider.GetRequiredService<TimeProvider>()));
        services.AddHostedService(provider => provider.GetRequiredService<AdminService>());
        services.AddHostedService(provider => provider.GetRequiredService<BrokerService>());
        services.AddHostedService<MetricsExport>();
        services.AddHostedService(provider => new MemoryRest(
            provider.GetRequiredService<BrokerService>(), TimeProvider.System));
        services.AddHostedService<ReadyLine>();
    }

    private static bool IsStopping(IHost host)
        => host.Services.GetRequiredService<IHostApplicationLifetime>().ApplicationStopping.IsCancellationRequested;

    /// <summary>Closes what was opened before the start failed or was given up.</summary>
    /// <returns>False when that failed, which is logged.</returns>
    private static async Task<bool> TryStopAsync(IHost host)
    {
        try
        {
            await host.StopAsync();
            return true;
        }
        catch (Exception exception)
        {
            ILogger logger = host.Services.GetRequiredService<ILoggerFactory>().CreateLogger("EQueue.Server");
            Log.Failed(logger, exception);
            return false;
        }
    }
}
