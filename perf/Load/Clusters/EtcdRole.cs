using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text.Json;
using EQueue.Load.Roles;

namespace EQueue.Load.Clusters;

/// <summary>
/// Holds an etcd of one member: <c>start</c> with the directory of its data, until it answers. It never outlives this
/// process, whatever ends it but a kill of its own.
/// </summary>
internal sealed class EtcdRole : IRole
{
    private const int Attempts = 5;

    /// <summary>No outgoing connection takes one of these.</summary>
    private const int LeastPort = 20_000;

    private const int MostPort = 32_000;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(20);
    private static readonly TimeSpan PollInterval = TimeSpan.FromMilliseconds(50);

    private ChildProcess? _etcd;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        string directory = RoleJson.Read<string>(argument);
        for (int attempt = 1; ; attempt++)
        {
            if (await TryStartAsync(directory, cancellationToken) is { } address)
                return address;
            string said = _etcd!.ErrorText();
            await DisposeAsync();
            if (attempt == Attempts)
                throw LoadException.Failed($"etcd did not become healthy{said}");
        }
    }

    public async ValueTask DisposeAsync()
    {
        if (_etcd is not { } etcd)
            return;
        _etcd = null;
        await etcd.DisposeAsync();
    }

    /// <returns>Its address; null when it ended, because another program took its port, or says nothing.</returns>
    private async Task<string?> TryStartAsync(string directory, CancellationToken cancellationToken)
    {
        string client = $"http://127.0.0.1:{FreePort()}";
        string peer = $"http://127.0.0.1:{FreePort()}";
        string[] arguments =
        [
            "--name", "one", "--data-dir", directory, "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", $"one={peer}",
            "--log-level", "error", "--logger", "zap", "--log-outputs", "stderr",
        ];
        var start = new ProcessStartInfo("etcd", arguments) { RedirectStandardError = true, UseShellExecute = false };
        _etcd = ChildProcess.Start(start, "etcd (package etcd-server)");
        using var http = new HttpClient(new SocketsHttpHandler { UseProxy = false });
        long started = TimeProvider.System.GetTimestamp();
        while (TimeProvider.System.GetElapsedTime(started) < Patience && !_etcd.Process.HasExited)
        {
            if (await IsHealthyAsync(http, client, cancellationToken))
                return client;
            await Task.Delay(PollInterval, cancellationToken);
        }

        return null;
    }

    private static async Task<bool> IsHealthyAsync(HttpClient http, string address, CancellationToken cancellationToken)
    {
        try
        {
            string answer = await http.GetStringAsync(new Uri($"{address}/health"), cancellationToken);
            return answer.Contains("true", StringComparison.Ordinal);
        }
        catch (HttpRequestException)
        {
            return false;
        }
    }

    private static string FreePort()
    {
        while (true)
        {
            int port = Random.Shared.Next(LeastPort, MostPort);
            try
            {
                using var listener = new TcpListener(IPAddress.Loopback, port);
                listener.Start();
                return port.ToString(CultureInfo.InvariantCulture);
            }
            catch (SocketException)
            {
                // Taken.
            }
        }
    }
}
