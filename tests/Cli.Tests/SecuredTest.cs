using System.Text;
using System.Text.Json;
using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>A real broker, within this process, that serves its owner and those who log in; the commands of a test come
/// as the owner unless they say otherwise.</summary>
public abstract class SecuredTest : IAsyncLifetime
{
    private readonly TempDirectory _directory = new();
    private EQueueBroker _broker = null!;

    private protected static CancellationToken Token => TestContext.Current.CancellationToken;

    private protected string Address => $"{_broker.EndPoint}";

    public async ValueTask InitializeAsync() => _broker = await EQueueBroker.StartAsync(new BrokerOptions
    {
        Listen = "127.0.0.1:0",
        Store = new StoreOptions { DataDirectory = _directory["data"], Disk = new MemoryDisk(256 << 20) },
        Security = new SecurityOptions { Unauthenticated = UnauthenticatedAccess.Owner },
    });

    public async ValueTask DisposeAsync()
    {
        await _broker.DisposeAsync();
        _directory.Dispose();
        GC.SuppressFinalize(this);
    }

    private protected string PathOf(string file) => _directory[file];

    /// <summary>The file with the password of <see cref="AddUserAsync"/>.</summary>
    private protected string PasswordFileOf(string user) => PathOf($"{user}.password");

    /// <summary>Adds a user whose password is in a file.</summary>
    private protected async Task AddUserAsync(string user)
    {
        await WriteSecretAsync($"{user}.password", $"{user}'s password\n");
        await RunAsync(ExitCode.Done, "", "user", "add", user, "--new-password-file", PasswordFileOf(user));
    }

    /// <summary>A token of a user.</summary>
    private protected async Task<string> CreateTokenAsync(string user) =>
        (await RunAsync(ExitCode.Done, "", "token", "create", user, "--no-expiry")).OutputText.Trim();

    /// <summary>Writes a file that its owner alone may read.</summary>
    private protected async Task<string> WriteSecretAsync(string file, string text)
    {
        await File.WriteAllTextAsync(PathOf(file), text, Token);
        if (!OperatingSystem.IsWindows())
            File.SetUnixFileMode(PathOf(file), UnixFileMode.UserRead | UnixFileMode.UserWrite);
        return PathOf(file);
    }

    private protected async Task<bool> MayLogInAsync(string user, string password)
    {
        CliRun run = await InAsync(
            new Dictionary<string, string> { ["EQUEUE_USER"] = user, ["EQUEUE_PASSWORD"] = password },
            "topic", "list");
        Assert.True(run.ExitCode is ExitCode.Done or ExitCode.Refused, run.Error);
        return run.ExitCode == ExitCode.Done;
    }

    private protected async Task<CliRun> RunAsync(int exitCode, string input, params string[] arguments)
    {
        CliRun run = await CliRun.RunAsync(
            [.. arguments, "--server", Address], Encoding.UTF8.GetBytes(input), Token);
        Assert.True(run.ExitCode == exitCode, $"{string.Join(' ', arguments)}: {run.ExitCode} {run.Error}");
        return run;
    }

    /// <summary>Runs a command in an environment.</summary>
    private protected Task<CliRun> InAsync(Dictionary<string, string> environment, params string[] arguments) =>
        CliRun.RunAsync([.. arguments, "--server", Address], [], environment.GetValueOrDefault, Token);

    /// <summary>Runs a command before a person.</summary>
    /// <param name="typedSecrets">What the person answers when asked for passwords; all of it has to be asked
    /// for.</param>
    /// <param name="typedLines">What the person types else.</param>
    /// <param name="arguments">The command.</param>
    private protected async Task<CliRun> OnTerminalAsync(
        string[] typedSecrets, string typedLines, params string[] arguments)
    {
        var secrets = new Queue<string>(typedSecrets);
        using var output = new MemoryStream();
        await using var error = new StringWriter();
        var streams = new CliStreams(
            new MemoryStream(Encoding.UTF8.GetBytes(typedLines)), output, error, IsTerminal: true)
        {
            IsErrorTerminal = true,
            IsInputTerminal = true,
            AskSecret = _ => secrets.Dequeue(),
            Variable = _ => null,
        };
        int exitCode = await CliProgram.RunAsync([.. arguments, "--server", Address], streams, Token);
        Assert.Empty(secrets);
        return new CliRun(exitCode, output.ToArray(), error.ToString());
    }

    private protected static JsonElement JsonOf(CliRun run) => JsonDocument.Parse(run.OutputText).RootElement;

    private protected static string? CodeOf(CliRun run) =>
        JsonDocument.Parse(run.Error).RootElement.GetProperty("error").GetProperty("code").GetString();
}
