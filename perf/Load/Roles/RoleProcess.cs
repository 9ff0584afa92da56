using System.Diagnostics;
using System.Text.Json;

namespace EQueue.Load.Roles;

/// <summary>The load program's end of a role: its process, and calls answered one at a time.</summary>
internal sealed class RoleProcess : IAsyncDisposable
{
    private static readonly TimeSpan StopTimeout = TimeSpan.FromSeconds(20);

    private readonly ChildProcess _child;
    private readonly string _role;
    private bool _disposed;

    private RoleProcess(string role, ChildProcess child)
    {
        _role = role;
        _child = child;
    }

    public int ProcessId => _child.Process.Id;

    /// <summary>Starts this program again as <paramref name="role"/>.</summary>
    public static RoleProcess Start(string role)
    {
        string program = Environment.ProcessPath ?? throw LoadException.Failed("the program does not know its own path");
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
        if (string.Equals(role, RoleList.Broker, StringComparison.Ordinal))
            start.Environment.TryAdd("DOTNET_TieredCompilation", "0"); // As in src/Server/Server.csproj.
        return new RoleProcess(role, ChildProcess.Start(start, role));
    }

    public async Task<TResult> CallAsync<TResult>(
        string command, object? argument, CancellationToken cancellationToken) =>
        RoleJson.Read<TResult>(await CallAsync(command, argument, cancellationToken));

    /// <summary>Sends one command and waits for its answer.</summary>
    /// <exception cref="LoadException">The role answered with an error, or its process ended.</exception>
    public async Task<JsonElement> CallAsync(string command, object? argument, CancellationToken cancellationToken)
    {
        JsonElement element = JsonSerializer.SerializeToElement(argument, RoleJson.Options);
        string line = JsonSerializer.Serialize(new RoleCommand(command, element), RoleJson.Options);
        string? answerLine = null;
        try
        {
            await _child.Process.StandardInput.WriteLineAsync(line.AsMemory(), cancellationToken);
            await _child.Process.StandardInput.FlushAsync(cancellationToken);
            answerLine = await _child.Process.StandardOutput.ReadLineAsync(cancellationToken);
        }
        catch (IOException)
        {
            // A broken pipe says only that the process is gone: the lines below say it with what it printed.
        }

        if (answerLine is null)
            throw LoadException.Failed($"the {_role} process ended during '{command}'{_child.ErrorText()}");
        RoleAnswer answer = JsonSerializer.Deserialize<RoleAnswer>(answerLine, RoleJson.Options)!;
        return answer.Error is null
            ? answer.Result
            : throw new LoadException(answer.ExitCode, $"{_role}: {answer.Error}{_child.ErrorText()}");
    }

    /// <summary>Ends the process at once, without any warning to it.</summary>
    public Task KillAsync() => _child.KillAsync();

    /// <summary>Closes the role's input, which ends it; kills it when it does not end in time.</summary>
    public async ValueTask DisposeAsync()
    {
        if (_disposed)
            return;
        _disposed = true;
        try
        {
            _child.Process.StandardInput.Close();
        }
        catch (IOException)
        {
            // Gone already.
        }

        using var timeout = new CancellationTokenSource(StopTimeout);
        try
        {
            await _child.Process.WaitForExitAsync(timeout.Token);
        }
        catch (OperationCanceledException)
        {
            await _child.KillAsync(withChildren: true);
        }

        _child.Process.Dispose();
    }
}
