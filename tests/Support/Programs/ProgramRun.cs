using System.Diagnostics;
using System.Runtime.InteropServices;
using System.Text;

namespace EQueue.Support;

/// <summary>A program of the product in a process of its own, started with <c>dotnet</c>; killed when disposed.</summary>
public sealed class ProgramRun : IAsyncDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(2);

    private readonly Process _process;
    private readonly StringBuilder _error = new();
    private readonly Task _errorReader;
    private Task<byte[]>? _output;
    private bool _isDisposed;

    private ProgramRun(Process process)
    {
        _process = process;
        _errorReader = ReadErrorAsync();
    }

    public int ProcessId => _process.Id;

    public bool HasExited => _process.HasExited;

    /// <summary>What the program wrote to standard error so far.</summary>
    public string Error
    {
        get
        {
            lock (_error)
                return _error.ToString();
        }
    }

    /// <summary>The program's standard output, for a caller that reads it line by line.</summary>
    public StreamReader OutputReader => _process.StandardOutput;

    public Stream Input => _process.StandardInput.BaseStream;

    public static ProgramRun Start(
        string project,
        IEnumerable<string> arguments,
        string? workingDirectory = null,
        IReadOnlyDictionary<string, string>? environment = null,
        string? ignoredSignal = null,
        string? limit = null)
    {
        ProcessStartInfo start = DotnetStart.Of(
            [ProgramFiles.AssemblyOf(project), .. arguments], ignoredSignal, limit);
        start.RedirectStandardInput = true;
        start.StandardOutputEncoding = Encoding.UTF8;
        start.StandardErrorEncoding = Encoding.UTF8;
        start.WorkingDirectory = workingDirectory ?? Path.GetTempPath();
        foreach ((string name, string value) in environment ?? new Dictionary<string, string>(StringComparer.Ordinal))
            start.Environment[name] = value;
        return new ProgramRun(Process.Start(start)!);
    }

    /// <summary>Runs the program to its end.</summary>
    public static async Task<ProgramResult> RunAsync(string project, params string[] arguments)
    {
        await using ProgramRun run = Start(project, arguments);
        return await run.FinishAsync();
    }

    /// <summary>Gives the program its input, if any, and waits for its end.</summary>
    public async Task<ProgramResult> FinishAsync(byte[]? input = null)
    {
        Task<byte[]> output = CollectOutput();
        try
        {
            if (input is not null)
                await Input.WriteAsync(input);
            _process.StandardInput.Close();
        }
        catch (IOException)
        {
            // The program ended without reading all of it; its exit code says why.
        }

        int exitCode = await WaitForExitAsync();
        return new ProgramResult(exitCode, await output, Error);
    }

    /// <summary>Reads everything that the program writes to standard output.</summary>
    public Task<byte[]> CollectOutput() => _output ??= Task.Run(async () =>
    {
        var bytes = new MemoryStream();
        await _process.StandardOutput.BaseStream.CopyToAsync(bytes);
        return bytes.ToArray();
    });

    public async Task<int> WaitForExitAsync()
    {
        using var late = new CancellationTokenSource(Patience);
        await _process.WaitForExitAsync(late.Token);
        await _errorReader;
        return _process.ExitCode;
    }

    /// <summary>Ends the process as <c>kill -9</c> does.</summary>
    public async Task KillAsync()
    {
        if (!_process.HasExited)
            _process.Kill();
        await WaitForExitAsync();
    }

    /// <summary>Sends SIGTERM or SIGINT.</summary>
    public void Signal(PosixSignal signal)
    {
        int number = signal switch
        {
            PosixSignal.SIGTERM => 15,
            PosixSignal.SIGINT => 2,
            _ => throw new ArgumentOutOfRangeException(nameof(signal)),
        };
        Send(number);
    }

    /// <summary>Stops the process where it is (SIGSTOP); it notices nothing but the time.</summary>
    public void Pause() => Send(19);

    /// <summary>Lets a stopped process go on (SIGCONT).</summary>
    public void Resume() => Send(18);

    public async ValueTask DisposeAsync()
    {
        if (_isDisposed)
            return;
        _isDisposed = true;
        await KillAsync();
        _process.Dispose();
    }

    private void Send(int signalNumber)
    {
        using var kill = Process.Start("kill", ["-s", $"{signalNumber}", $"{_process.Id}"]);
        kill.WaitForExit();
    }

    private async Task ReadErrorAsync()
    {
        while (await _process.StandardError.ReadLineAsync() is { } line)
        {
            lock (_error)
                _error.AppendLine(line);
        }
    }
}
