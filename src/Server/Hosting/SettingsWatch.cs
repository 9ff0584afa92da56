using System.Runtime.InteropServices;
using EQueue.Server.Configuration;
using EQueue.Server.Engine;

namespace EQueue.Server.Hosting;

/// <summary>Takes up changes of the configuration's files while the server runs: what can change does, what cannot is
/// told, and a configuration that is wrong changes nothing.</summary>
/// <remarks>Looks at the files once a second, and at once on SIGHUP. One look at a time.</remarks>
internal sealed class SettingsWatch(
    Func<IConfiguration> load,
    IReadOnlyList<string> files,
    LiveConfiguration live,
    ServerOptions options,
    BrokerService broker,
    TimeProvider time,
    ILogger<SettingsWatch> logger) : IHostedService, IDisposable
{
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(1);

    private readonly CancellationTokenSource _stopping = new();
    private readonly Lock _gate = new();
    private readonly SemaphoreSlim _hangup = new(0);
    private PosixSignalRegistration? _registration;
    private ServerOptions _options = options;
    private (DateTime Written, long Size)[] _stamps = [];
    private Task _loop = Task.CompletedTask;

    public Task StartAsync(CancellationToken cancellationToken)
    {
        _stamps = ReadStamps();
        if (!OperatingSystem.IsWindows())
        {
            _registration = PosixSignalRegistration.Create(PosixSignal.SIGHUP, context =>
            {
                context.Cancel = true;
                _hangup.Release();
            });
        }

        _loop = Task.WhenAll(WatchFilesAsync(), WatchHangupsAsync());
        return Task.CompletedTask;
    }

    public async Task StopAsync(CancellationToken cancellationToken)
    {
        _registration?.Dispose();
        await _stopping.CancelAsync();
        await _loop;
    }

    public void Dispose()
    {
        _stopping.Dispose();
        _hangup.Dispose();
    }

    /// <summary>Reads everything anew and takes up what can change.</summary>
    public void Reload()
    {
        lock (_gate)
        {
            try
            {
                IConfiguration configuration = load();
                TakeUp(configuration, SettingsSource.Read(configuration));
            }
            catch (ConfigurationException exception)
            {
                Log.NotReloaded(logger, exception.Message);
            }
        }
    }

    private void TakeUp(IConfiguration configuration, ServerOptions wanted)
    {
        Setting[] changed = [.. Settings.All.Where(setting => setting.Show(_options) != setting.Show(wanted))];
        if (changed.Any(static setting => setting.IsReloadable))
            broker.Serving?.ChangeTopicDefaults(wanted.Broker.Topics);
        foreach (Setting setting in changed)
        {
            (string before, string after) = (setting.Show(_options), setting.Show(wanted));
            if (setting.IsReloadable)
                Log.SettingChanged(logger, setting.Key, before, after);
            else
                Log.SettingWaits(logger, setting.Key, before, after);
        }

        IReadOnlyDictionary<string, string> levels = LogLevels.Find(configuration);
        IReadOnlyDictionary<string, string> former = LogLevels.Find(live.Root);
        live.Replace(configuration);
        foreach (string key in levels.Keys.Union(former.Keys))
        {
            (string? before, string? after) = (former.GetValueOrDefault(key), levels.GetValueOrDefault(key));
            if (before != after)
                Log.SettingChanged(logger, key, before ?? "not set", after ?? "not set");
        }

        _options = wanted;
    }

    private async Task WatchFilesAsync()
    {
        using var timer = new PeriodicTimer(Interval, time);
        try
        {
            while (await timer.WaitForNextTickAsync(_stopping.Token))
            {
                (DateTime, long)[] stamps = ReadStamps();
                if (stamps.SequenceEqual(_stamps))
                    continue;
                _stamps = stamps;
                Reload();
            }
        }
        catch (OperationCanceledException)
        {
            // The server stops.
        }
    }

    private async Task WatchHangupsAsync()
    {
        try
        {
            while (true)
            {
                await _hangup.WaitAsync(_stopping.Token);
                Reload();
            }
        }
        catch (OperationCanceledException)
        {
            // The server stops.
        }
    }

    /// <summary>What tells that a file, or what a link leads to, is another one.</summary>
    private (DateTime Written, long Size)[] ReadStamps() =>
    [
        .. files.Select(static path =>
        {
            var file = new FileInfo(path);
            if (file.Exists && file.ResolveLinkTarget(returnFinalTarget: true) is FileInfo target)
                file = target;
            return file.Exists ? (file.LastWriteTimeUtc, file.Length) : (DateTime.MinValue, -1);
        }),
    ];
}
