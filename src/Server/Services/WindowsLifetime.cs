using System.Runtime.Versioning;
using EQueue.Server.Engine;
using Microsoft.Extensions.Hosting.WindowsServices;
using Microsoft.Extensions.Options;

namespace EQueue.Server.Services;

/// <summary>
/// The host's life as a service of Windows: pending until the broker serves, stopped once it has drained.
/// </summary>
/// <remarks>
/// The package's own lifetime says that a service runs before the host has started, and lets a long stop look like a
/// hanging one; <see cref="ServiceStages"/> decides both here. A start that fails and an end with a fault are told as
/// error 1064, so that the service control manager does what the service's recovery says.
/// </remarks>
[SupportedOSPlatform("windows")]
internal sealed class WindowsLifetime : WindowsServiceLifetime, IHostLifetime
{
    private const int ExceptionInService = 1064;

    private readonly ServiceStages _stages;
    private readonly ServerOutcome _outcome;
    private readonly CancellationTokenRegistration _started;
    private readonly CancellationTokenRegistration _stopping;

    public WindowsLifetime(
        IHostEnvironment environment,
        IHostApplicationLifetime lifetime,
        ILoggerFactory loggers,
        IOptions<HostOptions> options,
        BrokerService broker,
        ServerOutcome outcome,
        TimeProvider time)
        : base(environment, lifetime, loggers, options, NameOf())
    {
        _outcome = outcome;
        _stages = new ServiceStages(time, AskForTime);
        _started = lifetime.ApplicationStarted.Register(() =>
        {
            if (broker.IsReady)
                _stages.Serve();
        });
        _stopping = lifetime.ApplicationStopping.Register(_stages.End);
    }

    /// <summary>Ends the service; one that has never served is stopped already.</summary>
    async Task IHostLifetime.StopAsync(CancellationToken cancellationToken)
    {
        try
        {
            await StopAsync(cancellationToken);
        }
        catch (StartFailedException)
        {
            // The host has told why.
        }
    }

    protected override void OnStart(string[] args)
    {
        base.OnStart(args);
        if (_stages.WaitForStart())
            return;
        ExitCode = ExceptionInService;
        throw new StartFailedException();
    }

    protected override void OnStop()
    {
        using (_stages.Pend())
            base.OnStop();
        TellOutcome();
    }

    protected override void OnShutdown()
    {
        base.OnShutdown();
        TellOutcome();
    }

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _started.Dispose();
            _stopping.Dispose();
            _stages.End();
        }

        base.Dispose(disposing);
    }

    private static IOptions<WindowsServiceLifetimeOptions> NameOf() =>
        Options.Create(new WindowsServiceLifetimeOptions { ServiceName = WindowsService.Name });

    private void TellOutcome()
    {
        if (_outcome.ExitCode != Server.ExitCode.Clean)
            ExitCode = ExceptionInService;
    }

    private void AskForTime(TimeSpan extension)
    {
        try
        {
            RequestAdditionalTime((int)extension.TotalMilliseconds);
        }
        catch (InvalidOperationException)
        {
            // Nothing is pending any more: the timer's last tick came late.
        }
    }

    private sealed class StartFailedException()
        : InvalidOperationException("The server did not start; its log says why.");
}
