using System.ComponentModel;
using System.Diagnostics;
using System.Text.Json;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;

namespace EQueue.Load.Recovering;

/// <summary>
/// Holds the real server program: <c>start</c> with a <see cref="ServerOrder"/> until it is ready, <c>kill</c> without
/// any warning. The server never outlives this process, whatever ends it but a kill of its own.
/// </summary>
internal sealed class ServerRole : IRole
{
    private const string Ready = "ready ";
    private const string ListenKey = "data=";
    private const int KeptErrorLines = 20;

    private readonly Queue<string> _errorLines = new();
    private Process? _server;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "start")
            return await StartAsync(RoleJson.Read<ServerOrder>(argument), cancellationToken);
        await KillAsync();
        return null;
    }

    public async ValueTask DisposeAsync() => await KillAsync();

    /// <summary>From the moment before the process is made to its line on standard output.</summary>
    private async Task<ServerResult> StartAsync(ServerOrder order, CancellationToken cancellationToken)
    {
        var start = NewStartInfo(order);
        var startNs = Clock.NowNs;
        try
        {
            _server = Process.Start(start)!;
        }
        catch (Win32Exception exception)
        {
            throw LoadException.MachineLimit("processes", $"cannot start the server: {exception.Message}", exception);
        }

        _server.ErrorDataReceived += (_, line) => KeepErrorLine(line.Data);
        _server.BeginErrorReadLine();
        var answer = await _server.StandardOutput.ReadLineAsync(cancellationToken);
        var seconds = (Clock.NowNs - startNs) / 1e9;
        if (answer?.StartsWith(Ready, StringComparison.Ordinal) is not true)
            throw LoadException.Failed($"the server did not become ready: {answer}{ErrorText()}");
        _server.Refresh();
        var cpuPercent = _server.TotalProcessorTime.TotalSeconds / seconds * 100;
        var listen = answer.Split(' ').First(word => word.StartsWith(ListenKey, StringComparison.Ordinal));
        return new ServerResult(listen[ListenKey.Length..], seconds, _server.WorkingSet64, cpuPercent);
    }

    private static ProcessStartInfo NewStartInfo(ServerOrder order) => BuiltProgram.NewStart(
        "Server",
        [
            "--data", order.Directory, "--listen", "127.0.0.1:0", "--admin", "none",
            "--flush", order.Flush.ToString().ToLowerInvariant(),
        ]);

    private async Task KillAsync()
    {
        if (_server is not { } server)
            return;
        _server = null;
        server.Kill();
        await server.WaitForExitAsync(CancellationToken.None);
        server.Dispose();
    }

    private void KeepErrorLine(string? line)
    {
        if (line is null)
            return;
        lock (_errorLines)
        {
            _errorLines.Enqueue(line);
            if (_errorLines.Count > KeptErrorLines)
                _errorLines.Dequeue();
        }
    }

    private string ErrorText()
    {
        lock (_errorLines)
        {
            return _errorLines.Count == 0 ? string.Empty : "\n  " + string.Join("\n  ", _errorLines);
        }
    }
}

/// <summary>How to start the server.</summary>
internal sealed record ServerOrder(string Directory, FlushMode Flush);

/// <summary>A server that is ready.</summary>
/// <param name="Server">Where it listens.</param>
/// <param name="Seconds">From the start of its process until then.</param>
/// <param name="ResidentBytes">Memory that it held then.</param>
/// <param name="CpuPercent">Until then; 100 is one core.</param>
internal sealed record ServerResult(string Server, double Seconds, long ResidentBytes, double CpuPercent);
