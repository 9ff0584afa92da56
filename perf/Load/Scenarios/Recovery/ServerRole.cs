using System.Diagnostics;
using System.Text.Json;
using EQueue.Load.Measuring;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Holds the real server program: <c>start</c> with a <see cref="ServerOrder"/> until it is ready, <c>kill</c> without
/// any warning, <c>wait</c> until it has ended by itself. The server never outlives this process, whatever ends it but a kill of its own.
/// </summary>
internal sealed class ServerRole : IRole
{
    private const string Ready = "ready ";
    private const string ListenKey = "data=";
    private const string AdminKey = "admin=";

    private ChildProcess? _server;

    public async Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "start")
            return await StartAsync(RoleJson.Read<ServerOrder>(argument), cancellationToken);
        if (command == "wait" && _server is { } server)
            await server.Process.WaitForExitAsync(cancellationToken);
        await KillAsync();
        return null;
    }

    public async ValueTask DisposeAsync() => await KillAsync();

    /// <summary>From the moment before the process is made to its line on standard output.</summary>
    private async Task<ServerResult> StartAsync(ServerOrder order, CancellationToken cancellationToken)
    {
        long startNs = Clock.NowNs;
        _server = ChildProcess.Start(NewStart(order), "the server");
        string? answer = await _server.Process.StandardOutput.ReadLineAsync(cancellationToken);
        double seconds = (Clock.NowNs - startNs) / 1e9;
        if (answer?.StartsWith(Ready, StringComparison.Ordinal) is not true)
            throw LoadException.Failed($"the server did not become ready: {answer}{_server.ErrorText()}");
        _server.Process.Refresh();
        double cpuPercent = _server.Process.TotalProcessorTime.TotalSeconds / seconds * 100;
        return new ServerResult(ValueOf(answer, ListenKey), seconds, _server.Process.WorkingSet64, cpuPercent)
        {
            Admin = order.HasAdmin ? ValueOf(answer, AdminKey) : null,
            ProcessId = _server.Process.Id,
        };
    }

    private static string ValueOf(string readyLine, string key) =>
        readyLine.Split(' ').First(word => word.StartsWith(key, StringComparison.Ordinal))[key.Length..];

    private static ProcessStartInfo NewStart(ServerOrder order) => BuiltProgram.NewStart(
        "Server",
        [
            "--data", order.Directory, "--listen", order.Listen ?? "127.0.0.1:0", "--admin",
            order.HasAdmin ? "127.0.0.1:0" : "none",
            "--flush", order.Flush.ToString().ToLowerInvariant(),
            .. order.More,
        ]);

    private async Task KillAsync()
    {
        if (_server is not { } server)
            return;
        _server = null;
        await server.DisposeAsync();
    }
}

/// <summary>How to start the server.</summary>
internal sealed record ServerOrder(string Directory, FlushMode Flush)
{
    /// <summary>Whether it has its admin port.</summary>
    public bool HasAdmin { get; init; }

    /// <summary>Where it listens; null: at a free port.</summary>
    public string? Listen { get; init; }

    /// <summary>Its other arguments.</summary>
    public IReadOnlyList<string> More { get; init; } = [];
}

/// <summary>A server that is ready.</summary>
/// <param name="Server">Where it listens.</param>
/// <param name="Seconds">From the start of its process until then.</param>
/// <param name="ResidentBytes">Memory that it held then.</param>
/// <param name="CpuPercent">Until then; 100 is one core.</param>
internal sealed record ServerResult(string Server, double Seconds, long ResidentBytes, double CpuPercent)
{
    /// <summary>Where its admin port is; null: it has none.</summary>
    public string? Admin { get; init; }

    public int ProcessId { get; init; }
}
