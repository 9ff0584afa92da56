using System.ComponentModel;
using System.Diagnostics;
using System.Text.Json;

namespace EQueue.Load.Roles;

/// <summary>The load program's end of a role: its process, and calls answered one at a time.</summary>
internal sealed class RoleProcess : IAsyncDisposable
{
    private const int KeptErrorLines = 40;

    private static readonly TimeSpan StopTimeout = TimeSpan.FromSeconds(20);

    private readonly Process _process;
    private readonly Queue<string> _errorLines = new();
    private readonly string _role;
    private bool _disposed;

    private RoleProcess(string role, Process process)
    {
        _role = role;
        _process = process;
        _process.ErrorDataReceived += (_, line) => KeepErrorLine(line.Data);
        _process.BeginErrorReadLine();
    }

    public int ProcessId => _process.Id;

    /// <summary>Starts this program again as <paramref name="role"/>.</summary>
    public static RoleProcess Start(string role)
    {
        var program = Environment.ProcessPath ?? throw LoadException.Failed("the program does not know its own path");
        var start = new ProcessStartInfo(program)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
            UseShellExecute = false,
        };
        if (string.Equals(Path.GetFileNameWithoutExtension(program), "dotnet", StringComparison.OrdinalIgnoreCase))
            start.ArgumentList.Add(Path.Combine(AppContext.BaseDirectory, "EQueue.Load.dll"));
        start.ArgumentList.Add("role");
        start.ArgumentList.Add(role);
        try
        {
            return new RoleProcess(role, Process.Start(start)!);
        }
        catch (Win32Exception exception)
        {
            throw LoadException.MachineLimit("processes", $"cannot start {role}: {exception.Message}", exception);
        }
    }

    public async Task<TResult> CallAsync<TResult>(
        string command, object? argument, CancellationToken cancellationToken) =>
        RoleJson.Read<TResult>(await CallAsync(command, argument, cancellationToken));

    /// <summary>Sends one command and waits for its answer.</summary>
    /// <exception cref="LoadException">The role answered with an error, or its process ended.</exception>
    public async Task<JsonElement> CallAsync(string command, object? argument, CancellationToken cancellationToken)
    {
        var element = JsonSerializer.SerializeToElement(argument, RoleJson.Options);
        var line = JsonSerializer.Serialize(new RoleCommand(command, element), RoleJson.Options);
        string? answerLine = null;
        try
        {
            await _process.StandardInput.WriteLineAsync(line.AsMemory(), cancellationToken);
            await _process.StandardInput.FlushAsync(cancellationToken);
            answerLine = await _process.StandardOutput.ReadLineAsync(cancellationToken);
        }
        catch (IOException)
        {
            // A broken pipe says only that the process is gone: the lines below say it with what it printed.
        }

        if (answerLine is null)
            throw LoadException.Failed($"the {_role} process ended during '{command}'{ErrorText()}");
        var answer = JsonSerializer.Deserialize<RoleAnswer>(answerLine, RoleJson.Options)!;
        return answer.Error is null
            ? answer.Result
            : throw new LoadException(answer.ExitCode, $"{_role}: {answer.Error}{ErrorText()}");
    }

    /// <summary>Ends the process at once, without any warning to it.</summary>
    public async Task KillAsync()
    {
        _process.Kill();
        await _process.WaitForExitAsync(CancellationToken.None);
    }

    /// <summary>Closes the role's input, which ends it; kills it when it does not end in time.</summary>
    public async ValueTask DisposeAsync()
    {
        if (_disposed)
            return;
        _disposed = true;
        try
        {
            _process.StandardInput.Close();
        }
        catch (IOException)
        {
            // Gone already.
        }

        using var timeout = new CancellationTokenSource(StopTimeout);
        try
        {
            await _process.WaitForExitAsync(timeout.Token);
        }
        catch (OperationCanceledException)
        {
            _process.Kill(entireProcessTree: true);
            await _process.WaitForExitAsync(CancellationToken.None);
        }

        _process.Dispose();
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
