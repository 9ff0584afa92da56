using System.Text.Json;
using EQueue.Load.Roles;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Holds the real <c>equeue forward</c>: <c>start</c> with a <see cref="ForwardOrder"/>, <c>check</c> that it still
/// runs. It never outlives this process, whatever ends it but a kill of its own.
/// </summary>
internal sealed class ForwardRole : IRole
{
    private ChildProcess? _forward;

    public Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "start")
            Start(RoleJson.Read<ForwardOrder>(argument));
        if (_forward is not { Process.HasExited: false })
            throw LoadException.Failed($"equeue forward ended{_forward?.ErrorText()}");
        return Task.FromResult<object?>(null);
    }

    public async ValueTask DisposeAsync()
    {
        if (_forward is not null)
            await _forward.DisposeAsync();
    }

    private void Start(ForwardOrder order)
    {
        string[] command = ["forward", "--from", order.From, "--to", order.To, "--follow"];
        _forward = ChildProcess.Start(BuiltProgram.NewStart("Cli", command), "equeue");
        _forward.Process.BeginOutputReadLine();
    }
}

/// <summary>From where to where, <c>HOST:PORT/TOPIC</c> each.</summary>
internal sealed record ForwardOrder(string From, string To);
