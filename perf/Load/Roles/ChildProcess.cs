using System.ComponentModel;
using System.Diagnostics;

namespace EQueue.Load.Roles;

/// <summary>
/// A process that this one started. What it printed last on standard error is kept, to say why it failed.
/// </summary>
internal sealed class ChildProcess : IAsyncDisposable
{
    private const int KeptErrorLines = 40;

    private readonly Queue<string> _errorLines = new();

    private ChildProcess(Process process)
    {
        Process = process;
        Process.ErrorDataReceived += (_, line) => KeepErrorLine(line.Data);
        Process.BeginErrorReadLine();
    }

    public Process Process { get; }

    /// <summary>Starts a process whose standard error is redirected.</summary>
    /// <param name="name">What a message calls it.</param>
    /// <exception cref="LoadException">The system does not give another process.</exception>
    public static ChildProcess Start(ProcessStartInfo start, string name)
    {
        try
        {
            return new ChildProcess(Process.Start(start)!);
        }
        catch (Win32Exception exception)
        {
            throw LoadException.MachineLimit("processes", $"cannot start {name}: {exception.Message}", exception);
        }
    }

    /// <summary>The last lines of its standard error, to stand behind a message; empty when there are none.</summary>
    public string ErrorText()
    {
        lock (_errorLines)
            return _errorLines.Count == 0 ? string.Empty : "\n  " + string.Join("\n  ", _errorLines);
    }

    /// <summary>Ends it at once, without any warning to it.</summary>
    public async Task KillAsync(bool withChildren = false)
    {
        Process.Kill(withChildren);
        await Process.WaitForExitAsync(CancellationToken.None);
    }

    /// <summary>Ends it at once, if it still runs.</summary>
    public async ValueTask DisposeAsync()
    {
        await KillAsync();
        Process.Dispose();
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
}
