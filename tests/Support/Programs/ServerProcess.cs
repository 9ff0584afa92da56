using System.Runtime.InteropServices;
using System.Text.RegularExpressions;

namespace EQueue.Support;

/// <summary><c>equeue-server</c> in a process of its own, ready to serve; it can be killed and started again in place.</summary>
public sealed partial class ServerProcess : IAsyncDisposable
{
    private const int PortInUse = 4;

    private readonly string[] _arguments;
    private readonly IReadOnlyDictionary<string, string>? _environment;
    private ProgramRun _run;

    private ServerProcess(
        ProgramRun run, Match ready, string[] arguments, IReadOnlyDictionary<string, string>? environment = null)
    {
        _run = run;
        _arguments = arguments;
        _environment = environment;
        ReadyLine = ready.Value;
        Address = ready.Groups["data"].Value;
        Admin = ready.Groups["admin"].Value;
        Directory = ready.Groups["dir"].Value;
        ProcessId = int.Parse(ready.Groups["pid"].Value);
    }

    public string ReadyLine { get; }

    /// <summary>Where clients connect; the same after a restart.</summary>
    public string Address { get; }

    public string Admin { get; }

    public string Directory { get; }

    public int ProcessId { get; private set; }

    public string Error => _run.Error;

    /// <summary>Starts a server on a free port and without admin pages unless the arguments ask for others.</summary>
    public static Task<ServerProcess> StartAsync(string dataDirectory, params string[] arguments) =>
        StartAsync(dataDirectory, null, arguments);

    /// <summary>The same, with variables of the environment.</summary>
    public static async Task<ServerProcess> StartAsync(
        string dataDirectory, IReadOnlyDictionary<string, string>? environment, params string[] arguments)
    {
        string[] all = ["--data", dataDirectory, .. arguments];
        if (!arguments.Contains("--listen"))
            all = [.. all, "--listen", "127.0.0.1:0"];
        if (!arguments.Contains("--admin"))
            all = [.. all, "--admin", "none"];
        (ProgramRun run, Match ready) = await StartOnceAsync(all, environment: environment);
        return new ServerProcess(run, ready, all, environment);
    }

    /// <summary>Starts a server whose writes beyond a file size limit fail instead of ending it.</summary>
    public static async Task<ServerProcess> StartWithoutFileSizeSignalAsync(string dataDirectory)
    {
        string[] all = ["--data", dataDirectory, "--listen", "127.0.0.1:0", "--admin", "none"];
        (ProgramRun run, Match ready) = await StartOnceAsync(all, "XFSZ");
        return new ServerProcess(run, ready, all);
    }

    /// <summary>Starts a server that may have no more than so many descriptors (<c>ulimit -n</c>).</summary>
    public static Task<ServerProcess> StartWithDescriptorsAsync(
        string dataDirectory, int descriptors, params string[] arguments) =>
        StartLimitedAsync(dataDirectory, $"nofile={descriptors}:{descriptors}", arguments);

    /// <summary>Starts a server under a limit.</summary>
    /// <param name="dataDirectory">Its directory.</param>
    /// <param name="limit">As an option of prlimit(1): <c>as=SOFT:HARD</c>.</param>
    /// <param name="arguments">Others.</param>
    public static async Task<ServerProcess> StartLimitedAsync(
        string dataDirectory, string limit, params string[] arguments)
    {
        string[] all = ["--data", dataDirectory, "--listen", "127.0.0.1:0", "--admin", "none", .. arguments];
        (ProgramRun run, Match ready) = await StartOnceAsync(all, limit: limit);
        return new ServerProcess(run, ready, all);
    }

    /// <summary>Ends the server as <c>kill -9</c> does.</summary>
    public Task KillAsync() => _run.KillAsync();

    /// <summary>Stops the process where it is: it answers nothing, and its connections stay open.</summary>
    public void Pause() => _run.Pause();

    /// <summary>Lets it go on.</summary>
    public void Resume() => _run.Resume();

    /// <summary>Starts the server again on the same directory and port.</summary>
    public async Task RestartAsync()
    {
        await _run.DisposeAsync();
        string[] again = [.. _arguments];
        again[Array.IndexOf(again, "--listen") + 1] = Address;
        (ProgramRun Run, Match Ready)? started = null;
        await Eventually.TrueAsync(
            async () => (started = await TryStartAsync(again, environment: _environment)) is not null,
            "the port is free");
        (_run, Match ready) = started!.Value;
        ProcessId = int.Parse(ready.Groups["pid"].Value);
    }

    /// <summary>Asks the server to stop, and gives its exit code.</summary>
    public Task<int> StopAsync(PosixSignal signal = PosixSignal.SIGTERM)
    {
        _run.Signal(signal);
        return _run.WaitForExitAsync();
    }

    /// <summary>Waits for the server to end by itself, and gives its exit code.</summary>
    public Task<int> WaitForExitAsync() => _run.WaitForExitAsync();

    public ValueTask DisposeAsync() => _run.DisposeAsync();

    private static async Task<(ProgramRun Run, Match Ready)> StartOnceAsync(
        string[] arguments,
        string? ignoredSignal = null,
        IReadOnlyDictionary<string, string>? environment = null,
        string? limit = null) =>
        await TryStartAsync(arguments, ignoredSignal, environment, limit)
            ?? throw new InvalidOperationException($"The port is taken: {string.Join(' ', arguments)}.");

    /// <returns>Null when somebody else has the port.</returns>
    private static async Task<(ProgramRun Run, Match Ready)?> TryStartAsync(
        string[] arguments,
        string? ignoredSignal = null,
        IReadOnlyDictionary<string, string>? environment = null,
        string? limit = null)
    {
        var run = ProgramRun.Start(
            "Server", arguments, environment: environment, ignoredSignal: ignoredSignal, limit: limit);
        string? line = await run.OutputReader.ReadLineAsync();
        Match ready = ReadyPattern().Match(line ?? "");
        if (ready.Success)
            return (run, ready);
        int exitCode = line is null ? await run.WaitForExitAsync() : -1;
        string error = run.Error;
        await run.DisposeAsync();
        if (exitCode == PortInUse)
            return null;
        throw new InvalidOperationException($"The server wrote '{line}' instead of its ready line ({exitCode}): {error}");
    }

    [GeneratedRegex(@"^ready data=(?<data>\S+:\d+) admin=(?<admin>none|\S+:\d+) pid=(?<pid>\d+) dir=(?<dir>/.+)$")]
    private static partial Regex ReadyPattern();
}
