using EQueue.Broker;
using EQueue.Server.Configuration;
using EQueue.Server.Hosting;
using EQueue.Support;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace EQueue.Server.Tests;

/// <summary>A signal may come at any moment of the start.</summary>
public sealed class StopWhileStartingTests
{
    private const int Opening = 6000;
    private const int Serves = 3000;

    [Theory]
    [InlineData(Opening, false)]
    [InlineData(Serves, true)]
    public async Task GivenAServerThatStarts_WhenToldToStop_ThenItEndsInOrder(int when, bool hasOpened)
    {
        using var directory = new TempDirectory();
        await RunAsync(
            directory,
            services => services.AddSingleton<ILoggerProvider>(provider => new StopsAt(when, provider)),
            hasOpened);
    }

    [Fact]
    public async Task GivenAServerThatServes_WhenToldToStopBeforeItsStartIsOver_ThenItEndsInOrder()
    {
        using var directory = new TempDirectory();
        await RunAsync(directory, services => services.AddHostedService<GivesUp>(), hasOpened: true);
    }

    [Fact]
    public async Task GivenAStopThatFails_WhenItCameBeforeTheStartWasOver_ThenTheExitCodeTells()
    {
        using var directory = new TempDirectory();
        await RunAsync(
            directory,
            services => services.AddHostedService<GivesUp>().AddHostedService<StaysBehind>(),
            hasOpened: true,
            ExitCode.Other);
    }

    /// <summary>Runs a server to its end; a store that was opened is marked as clean, and another server can have the
    /// directory.</summary>
    private static async Task RunAsync(
        TempDirectory directory, Action<IServiceCollection> add, bool hasOpened, int expected = ExitCode.Clean)
    {
        var commandLine = CommandLine.Parse(
            ["--data", directory["data"], "--listen", "127.0.0.1:0", "--admin", "none"]);
        IConfigurationRoot configuration = SettingsSource.Load(commandLine);
        int exitCode = await ServerHost.RunAsync(
            SettingsSource.Read(configuration),
            commandLine,
            new LiveConfiguration(configuration),
            logging => add(logging.Services));
        Assert.Equal(expected, exitCode);
        Assert.Equal(hasOpened, File.Exists(Path.Combine(directory["data"], "clean")));
        await using EQueueBroker again = await EQueueBroker.StartAsync(
            new BrokerOptions { DataDirectory = directory["data"] },
            cancellationToken: TestContext.Current.CancellationToken);
    }

    /// <summary>A part of the server that is told to stop when all the others have started, and gives up.</summary>
    private sealed class GivesUp(IHostApplicationLifetime lifetime) : IHostedLifecycleService
    {
        public Task StartingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StartedAsync(CancellationToken cancellationToken)
        {
            lifetime.StopApplication();
            cancellationToken.ThrowIfCancellationRequested();
            return Task.CompletedTask;
        }

        public Task StoppingAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StoppedAsync(CancellationToken cancellationToken) => Task.CompletedTask;
    }

    /// <summary>A part of the server that cannot stop.</summary>
    private sealed class StaysBehind : IHostedService
    {
        public Task StartAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken) =>
            Task.FromException(new EQueueException(ErrorCode.StoreFaulted));
    }

    /// <summary>Tells the host to stop when it sees one event.</summary>
    private sealed class StopsAt(int when, IServiceProvider services) : LogSink
    {
        protected override void OnLine(LogLine line)
        {
            if (line.Id == when)
                services.GetRequiredService<IHostApplicationLifetime>().StopApplication();
        }
    }
}
