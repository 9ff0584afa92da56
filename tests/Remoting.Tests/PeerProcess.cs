using System.Diagnostics;
using System.Net;
using EQueue.Support;

namespace EQueue.Remoting.Tests;

/// <summary>A remoting server in a process of its own (tests/RemotingPeer), to be killed.</summary>
internal sealed class PeerProcess : IDisposable
{
    private readonly Process _process;

    private PeerProcess(Process process, IPEndPoint endPoint)
    {
        _process = process;
        EndPoint = endPoint;
    }

    public IPEndPoint EndPoint { get; }

    /// <summary>Starts the process and waits until it listens.</summary>
    public static async Task<PeerProcess> StartAsync(int port = 0)
    {
        PeerProcess? peer = null;
        await Eventually.TrueAsync(async () => (peer = await TryStartAsync(port)) is not null, "the port is free");
        return peer!;
    }

    private static async Task<PeerProcess?> TryStartAsync(int port)
    {
        string assembly = Path.Combine(AppContext.BaseDirectory, "EQueue.RemotingPeer.dll");
        var start = new ProcessStartInfo("dotnet", [assembly, $"127.0.0.1:{port}"])
        {
            UseShellExecute = false,
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
        };
        Process process = Process.Start(start)!;
        string? line = await process.StandardOutput.ReadLineAsync().WaitAsync(TimeSpan.FromSeconds(60));
        if (line is null && port != 0)
            return null;
        if (line is null || !line.StartsWith("ready ", StringComparison.Ordinal))
            throw new InvalidOperationException($"The peer did not start: '{line}'.");
        return new PeerProcess(process, IPEndPoint.Parse(line["ready ".Length..]));
    }

    /// <summary>kill -9: no farewell, no flush.</summary>
    public async Task KillAsync()
    {
        _process.Kill();
        await _process.WaitForExitAsync();
    }

    /// <summary>Asks the process to stop in an orderly way; its exit code.</summary>
    public async Task<int> StopAsync()
    {
        _process.StandardInput.Close();
        await _process.WaitForExitAsync().WaitAsync(TimeSpan.FromSeconds(60));
        return _process.ExitCode;
    }

    public void Dispose()
    {
        if (!_process.HasExited)
            _process.Kill();
        _process.Dispose();
    }
}
