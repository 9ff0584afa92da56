using System.Text.Json;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>A server in a process of its own, its owner, and another user of the machine.</summary>
public sealed class IdentityTests
{
    /// <summary>Prints the status of each path.</summary>
    private const string Script = """
        import http.client, sys
        host, port = sys.argv[1].rsplit(':', 1)
        for path in sys.argv[2:]:
            peer = http.client.HTTPConnection(host, int(port), timeout=60)
            peer.request('DELETE' if path.startswith('DELETE ') else 'GET', path.split(' ')[-1])
            print(path, peer.getresponse().status)
        """;

    [Fact]
    [EffectOf("Security:AuditFile")]
    public async Task GivenServer_WhenItsOwnerAndAnotherUserAsk_ThenTheOwnerIsServedAndBothAreWrittenDown()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--admin", "127.0.0.1:0");
        Assert.Contains(" 6170 ", server.Error, StringComparison.Ordinal);
        ProgramResult made = await ProgramRun.RunAsync("Cli", "topic", "create", "t", "--server", server.Address);
        Assert.Equal(0, made.ExitCode);
        string[] answers = await AskAsStrangerAsync(server.Admin, "/health/ready", "/stats", "DELETE /api/v1/topics/t");
        Assert.Equal(["/health/ready 200", "/stats 401", "DELETE /api/v1/topics/t 401"], answers);
        ProgramResult listed = await ProgramRun.RunAsync("Cli", "topic", "list", "--server", server.Address);
        Assert.Contains("t", listed.OutputText, StringComparison.Ordinal);
        Assert.Equal(0, await server.StopAsync());

        string path = Path.Combine(directory["data"], "audit.jsonl");
        JsonElement[] lines = [.. (await File.ReadAllLinesAsync(path, TestContext.Current.CancellationToken))
            .Select(static line => JsonDocument.Parse(line).RootElement)];
        Assert.Contains(lines, static line => Is(line, "operation", "CreateTopic") && Is(line, "principal", "owner")
            && Is(line, "resource", "topic:t") && Is(line, "outcome", "done"));
        Assert.Contains(
            lines, static line => Is(line, "operation", "Login") && Is(line, "outcome", "Unauthenticated"));
        UnixFileMode mode = OperatingSystem.IsWindows() ? default : File.GetUnixFileMode(path);
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, mode);
    }

    [Fact]
    [EffectOf("Server:AllowUnauthenticatedLocalAccess")]
    public async Task GivenServerForAllOfTheMachine_WhenAnotherUserAsks_ThenItIsServed()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--admin", "127.0.0.1:0", "--Server:AllowUnauthenticatedLocalAccess", "true");
        Assert.Equal(
            ["/stats 200", "/api/v1/topics 200"],
            await AskAsStrangerAsync(server.Admin, "/stats", "/api/v1/topics"));
    }

    [Fact]
    [Follows("of the broker (equeue user add, equeue token create; --user,", "or one denies it (equeue acl test).")]
    public async Task GivenARefusal_WhenItsAdviceIsFollowed_ThenTheOtherUserIsServedAndItIsSaidWhichRuleDecides()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(
            directory["data"], "--admin", "127.0.0.1:0");
        await RunAsync(0, "topic", "create", "t");
        Assert.Equal(["/api/v1/topics 401"], await AskAsStrangerAsync(server.Admin, "/api/v1/topics"));

        await RunAsync(0, "acl", "allow", $"local:{Stranger.User}", "describe", "topic:*", "--yes");
        Assert.Equal(["/api/v1/topics 200"], await AskAsStrangerAsync(server.Admin, "/api/v1/topics"));

        await RunAsync(0, "user", "add", "alice", "--no-password");
        string token = await RunAsync(0, "token", "create", "alice", "--no-expiry");
        await File.WriteAllTextAsync(directory["token"], token, TestContext.Current.CancellationToken);
        ProgramResult refused = await ProgramRun.RunAsync(
            "Cli", "topic", "delete", "t", "--yes", "--token-file", directory["token"], "--server", server.Address);
        Assert.NotEqual(0, refused.ExitCode);
        Assert.Contains("(equeue acl test)", refused.Error, StringComparison.Ordinal);
        Assert.StartsWith("denied", await RunAsync(1, "acl", "test", "user:alice", "delete", "topic:t"));
        await RunAsync(0, "acl", "allow", "user:alice", "delete", "topic:t");
        Assert.StartsWith("allowed", await RunAsync(0, "acl", "test", "user:alice", "delete", "topic:t"));
        await RunAsync(0, "topic", "delete", "t", "--yes", "--token-file", directory["token"]);

        async Task<string> RunAsync(int exitCode, params string[] words)
        {
            ProgramResult run = await ProgramRun.RunAsync("Cli", [.. words, "--server", server.Address]);
            Assert.True(run.ExitCode == exitCode, $"{string.Join(' ', words)}: {run.ExitCode} {run.Error}");
            return run.OutputText;
        }
    }

    [Fact]
    public async Task GivenAuditFileThatCannotBeWritten_WhenAServerStarts_ThenItEndsWithTwoAndNamesTheSetting()
    {
        using var directory = new TempDirectory();
        ProgramResult ended = await ProgramRun.RunAsync(
            "Server", "--data", directory["data"], "--listen", "127.0.0.1:0", "--admin", "none",
            "--Security:AuditFile", directory["none/audit.jsonl"]);
        Assert.Equal(2, ended.ExitCode);
        Assert.Contains($"Security:AuditFile is '{directory["none/audit.jsonl"]}'", ended.Error, StringComparison.Ordinal);
        Assert.False(Directory.Exists(directory["data"]), "nothing was made");
    }

    private static bool Is(JsonElement line, string key, string value) => line.GetProperty(key).GetString() == value;

    private static Task<string[]> AskAsStrangerAsync(string address, params string[] paths)
    {
        Assert.SkipUnless(Stranger.CanRun, Stranger.Needs);
        return Stranger.RunAsync(Script, [], [address, .. paths]);
    }
}
