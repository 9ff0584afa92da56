using EQueue.Protocol;
using EQueue.Support;
using EQueue.System.Tests.Bounds;

namespace EQueue.System.Tests;

/// <summary>What another user of the machine gets of a broker with its defaults: nothing. The routes of the admin port
/// are asked one by one in Server.Tests.</summary>
public sealed class StrangerTests
{
    private const UnixFileMode Everybody = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
        | UnixFileMode.GroupRead | UnixFileMode.GroupExecute | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;

    /// <summary>Of the paths on its input it prints those that it can read, list or write.</summary>
    private const string TryPaths = """
        import os, sys
        for path in (line.rstrip('\n') for line in sys.stdin):
            for what, how in (('list', os.listdir), ('read', lambda p: open(p, 'rb')), ('write', lambda p: open(p, 'ab'))):
                try:
                    how(path)
                    print(what, path)
                except OSError:
                    pass
        """;

    [Fact]
    public async Task GivenEveryFileOfABrokerAndItsOwner_WhenAnotherUserTriesThem_ThenNoneCanBeReadListedOrWritten()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "files have owners' modes on Unix alone");
        if (OperatingSystem.IsWindows())
            return;
        Assert.SkipUnless(Stranger.CanRun, Stranger.Needs);
        using var directory = new TempDirectory();
        File.SetUnixFileMode(directory.FullPath, Everybody);
        var environment = new Dictionary<string, string> { ["XDG_CONFIG_HOME"] = directory.FullPath };
        await using (ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--listen", $"127.0.0.1:0,unix:{directory["socket"]}"))
        {
            await RunAsync("send", "t", "a secret", "--server", server.Address);
            await RunAsync("user", "add", "alice", "--no-password", "--server", server.Address);
            await RunAsync("context", "add", "here", "--server", server.Address, "--user", "alice");
            await RunAsync("backup", directory["backup"], "--data", directory["data"]);
            Directory.CreateDirectory(directory["restored"], Everybody);
            await RunAsync("restore", directory["backup"], "--data", directory["restored"]);
            await AssertClosedAsync(directory, "socket", "log", "lock", "audit.jsonl", "contexts.json", "backup");
            Assert.Equal(0, await server.StopAsync());
        }

        // What a stop leaves as well.
        await AssertClosedAsync(directory, "state", "log");

        async Task RunAsync(params string[] words)
        {
            await using var run = ProgramRun.Start("Cli", words, environment: environment);
            ProgramResult result = await run.FinishAsync();
            Assert.True(result.ExitCode == 0, $"{string.Join(' ', words)}: {result.ExitCode} {result.Error}");
        }
    }

    [Fact]
    public async Task GivenEveryOperation_WhenAnotherUserAsksForItOverEachPort_ThenItIsUnauthenticatedAndCutOff()
    {
        Assert.SkipWhen(OperatingSystem.IsWindows(), "files have owners' modes on Unix alone");
        if (OperatingSystem.IsWindows())
            return;
        Assert.SkipUnless(Stranger.CanRun, Stranger.Needs);
        using var directory = new TempDirectory();
        File.SetUnixFileMode(directory.FullPath, Everybody);
        string path = directory["socket"];
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--listen", $"127.0.0.1:0,unix:{path}");
        Opcode[] operations = Enum.GetValues<Opcode>();
        string hello = Convert.ToHexString(BoundPeer.Hello("stranger"));
        string[] asked =
            [.. operations.Select(one => $"{hello} {Convert.ToHexString(BoundPeer.Frame(one, []))}")];

        // The socket's file refuses, as the umask leaves it; where it is opened to all, the broker does.
        Assert.All(await Stranger.TryPortAsync(asked, path), static line => Assert.Equal("got 6e6f", line));
        File.SetUnixFileMode(path, Everybody | UnixFileMode.GroupWrite | UnixFileMode.OtherWrite);
        foreach (string port in (string[])[server.Address, path])
        {
            string[] answers = await Stranger.TryPortAsync(asked, port);
            Assert.Equal(operations.Length, answers.Length);
            Assert.All(answers, static line => Assert.Equal([ErrorCode.Unauthenticated], Stranger.FramesIn(line).Select(static answer => (ErrorCode)answer.Header.Error)));
        }
    }

    private static async Task AssertClosedAsync(TempDirectory directory, params string[] kinds)
    {
        // One was open before; what is in it is not.
        string[] paths =
        [
            .. Directory.EnumerateFileSystemEntries(directory.FullPath, "*", SearchOption.AllDirectories)
                .Where(path => path != directory["restored"]),
        ];
        foreach (string kind in kinds)
            Assert.Contains(paths, path => path.EndsWith(kind, StringComparison.Ordinal));
        Assert.Empty(await Stranger.RunAsync(TryPaths, paths));
    }
}
