using System.Diagnostics;
using System.Net.Sockets;
using EQueue.Support;

namespace EQueue.Cluster.Tests.Etcd;

/// <summary>One member of etcd in a process of its own. It ends with the tests, however they end.</summary>
internal sealed class EtcdProcess : IAsyncDisposable
{
    // A shell waits beside etcd: when its input closes, because the tests dispose of it or because they are gone, it
    // kills etcd.
    private const string Watch = "etcd \"$@\" </dev/null & echo $!; read _; kill -9 $!; wait";

    private static readonly HttpClient Http = new(new SocketsHttpHandler { UseProxy = false })
    {
        Timeout = TimeSpan.FromSeconds(2),
    };

    private readonly TempDirectory _directory = new();
    private readonly string _peer;
    private readonly string[] _options;
    private Process? _shell;
    private Task<string>? _error;
    private string _data;

    public EtcdProcess(string name, int clientPort, int peerPort, params string[] options)
    {
        Name = name;
        string scheme = options.Contains("--cert-file") ? "https" : "http";
        Address = new Uri($"{scheme}://127.0.0.1:{clientPort}");
        _peer = $"http://127.0.0.1:{peerPort}";
        _options = options;
        _data = _directory["data"];
    }

    /// <summary>Whether tests with etcd can run here.</summary>
    public static bool IsInstalled { get; } = OperatingSystem.IsLinux() && ToolRun.IsInstalled("etcd");

    public string Name { get; }

    public Uri Address { get; }

    /// <summary>As in <c>--initial-cluster</c>.</summary>
    public string Member => $"{Name}={_peer}";

    private int ProcessId { get; set; }

    /// <summary>Skips the test where there is none.</summary>
    public static void SkipWithoutEtcd() => Assert.SkipUnless(IsInstalled, "etcd and a shell are not there");

    /// <summary>Starts it on the data that it has.</summary>
    /// <param name="cluster">All members.</param>
    public async Task StartAsync(string cluster)
    {
        SkipWithoutEtcd();
        string[] arguments =
        [
            "-c", Watch, "etcd",
            "--name", Name,
            "--data-dir", _data,
            "--listen-client-urls", Address.GetLeftPart(UriPartial.Authority),
            "--advertise-client-urls", Address.GetLeftPart(UriPartial.Authority),
            "--listen-peer-urls", _peer,
            "--initial-advertise-peer-urls", _peer,
            "--initial-cluster", cluster,
            "--heartbeat-interval", "50",
            "--election-timeout", "500",
            "--log-level", "error",
            "--logger", "zap",
            "--log-outputs", "stderr",
            .. _options,
        ];
        _shell = Process.Start(new ProcessStartInfo("sh", arguments)
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!;
        ProcessId = int.Parse((await _shell.StandardOutput.ReadLineAsync())!);
        _error = _shell.StandardError.ReadToEndAsync();
    }

    /// <summary>Waits until it answers, with a leader.</summary>
    public Task ReadyAsync() => Eventually.TrueAsync(IsHealthyAsync, $"{Address} is healthy");

    /// <summary>Ends it as <c>kill -9</c> does.</summary>
    public async Task KillAsync()
    {
        if (_shell is null)
            return;
        _shell.StandardInput.Close();
        await _shell.WaitForExitAsync();
        await _error!;
        _shell.Dispose();
        _shell = null;
    }

    /// <summary>It answers nothing, and its connections stay open.</summary>
    public void Pause() => Signal("STOP");

    public void Resume() => Signal("CONT");

    /// <summary>Runs etcdctl against this member.</summary>
    public async Task<string> ControlAsync(params string[] arguments)
    {
        ProgramResult result = await RunControlAsync(["--endpoints", $"{Address}", .. arguments]);
        Assert.True(result.ExitCode == 0, $"etcdctl {string.Join(' ', arguments)}: {result.Error}");
        return result.OutputText;
    }

    /// <summary>Saves a backup.</summary>
    public async Task<string> SaveAsync()
    {
        string path = _directory["backup"];
        await ControlAsync("snapshot", "save", path);
        return path;
    }

    /// <summary>Ends it and starts it on a backup's data: a cluster of this member alone.</summary>
    public async Task RestoreAsync(string backup)
    {
        await KillAsync();
        _data = _directory[$"restored-{Guid.NewGuid():n}"];
        ProgramResult result = await RunControlAsync(
        [
            "snapshot", "restore", backup, "--name", Name, "--data-dir", _data, "--initial-cluster", Member,
            "--initial-advertise-peer-urls", _peer,
        ]);
        Assert.True(result.ExitCode == 0, result.Error);
        await StartAsync(Member);
        await ReadyAsync();
    }

    public async ValueTask DisposeAsync()
    {
        await KillAsync();
        _directory.Dispose();
    }

    private static Task<ProgramResult> RunControlAsync(string[] arguments)
    {
        var start = new ProcessStartInfo("etcdctl", arguments);
        start.Environment["ETCDCTL_API"] = "3";
        return ToolRun.RunAsync(start);
    }

    private async Task<bool> IsHealthyAsync()
    {
        // The shell waits for its input alone: when etcd cannot start, it stays there as a zombie.
        string stat = await File.ReadAllTextAsync($"/proc/{ProcessId}/stat");
        if (stat.Contains(") Z ", StringComparison.Ordinal))
        {
            await KillAsync();
            throw new EtcdNotStartedException(await _error!);
        }

        if (Address.Scheme == "https")
            return await IsListeningAsync();
        try
        {
            return (await Http.GetStringAsync(new Uri(Address, "health"))).Contains("true", StringComparison.Ordinal);
        }
        catch (Exception exception) when (exception is HttpRequestException or TaskCanceledException)
        {
            return false;
        }
    }

    private async Task<bool> IsListeningAsync()
    {
        using var client = new TcpClient();
        try
        {
            await client.ConnectAsync(Address.Host, Address.Port);
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }

    private void Signal(string name)
    {
        using var kill = Process.Start("kill", [$"-{name}", $"{ProcessId}"]);
        kill.WaitForExit();
    }
}

/// <summary>etcd has ended instead of listening: another program has taken its port, for example.</summary>
internal sealed class EtcdNotStartedException(string error) : Exception(error);
