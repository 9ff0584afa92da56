using System.ComponentModel;
using System.Diagnostics;
using System.Text.Json;
using EQueue.Load.Roles;

namespace EQueue.Load.Fanning;

/// <summary>
/// Holds the real <c>equeue forward</c>: <c>start</c> with a <see cref="ForwardOrder"/>, <c>check</c> that it still
/// runs. It never outlives this process, whatever ends it but a kill of its own.
/// </summary>
internal sealed class ForwardRole : IRole
{
    private const int KeptErrorLines = 20;

    private readonly Queue<string> _errorLines = new();
    private Process? _forward;

    public Task<object?> HandleAsync(string command, JsonElement argument, CancellationToken cancellationToken)
    {
        if (command == "start")
            Start(RoleJson.Read<ForwardOrder>(argument));
        if (_forward is not { HasExited: false })
            throw LoadException.Failed($"equeue forward ended{ErrorText()}");
        return Task.FromResult<object?>(null);
    }

    public async ValueTask DisposeAsync()
    {
        if (_forward is not { } forward)
            return;
        forward.Kill();
        await forward.WaitForExitAsync(CancellationToken.None);
        forward.Dispose();
    }

    private void Start(ForwardOrder order)
    {
        var start = BuiltProgram.NewStart("Cli", ["forward", "--from", order.From, "--to", order.To, "--follow"]);
        try
        {
            _forward = Process.Start(start)!;
        }
        catch (Win32Exception exception)
        {
            throw LoadException.MachineLimit("processes", $"cannot start equeue: {exception.Message}", exception);
        }

        _forward.ErrorDataReceived += (_, line) => KeepErrorLine(line.Data);
        _forward.BeginErrorReadLine();
        _forward.BeginOutputReadLine();
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

/// <summary>From where to where, <c>HOST:PORT/TOPIC</c> each.</summary>
internal sealed record ForwardOrder(string From, string To);
