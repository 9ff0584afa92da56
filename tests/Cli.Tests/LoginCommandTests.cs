using System.Text.Json;

namespace EQueue.Cli.Tests;

/// <summary>Commands that log in, with all that may name who comes, and what they say when they are refused.</summary>
public sealed class LoginCommandTests : SecuredTest
{
    [Fact]
    public async Task GivenEachWayToLogIn_WhenACommandRuns_ThenItComesAsThatUser()
    {
        await AddUserAsync("alice");
        string token = await CreateTokenAsync("alice");
        string tokenFile = PathOf("token");
        // A mounted secret may be read by others: it is the mount that keeps it.
        await File.WriteAllTextAsync(tokenFile, token + "\n", Token);
        string[] me = ["acl", "test", "me", "write", "topic:t"];
        string passwordFile = PasswordFileOf("alice");

        AssertIsAlice(await InAsync([], [.. me, "--user", "alice", "--password-file", passwordFile]));
        AssertIsAlice(await InAsync([], [.. me, "--token-file", tokenFile]));
        AssertIsAlice(await InAsync(new() { ["EQUEUE_TOKEN"] = token }, me));
        AssertIsAlice(await InAsync(new() { ["EQUEUE_TOKEN_FILE"] = tokenFile }, me));
        AssertIsAlice(await InAsync(
            new() { ["EQUEUE_USER"] = "alice", ["EQUEUE_PASSWORD"] = "alice's password" }, me));
        AssertIsAlice(await InAsync(
            new() { ["EQUEUE_PASSWORD"] = "alice's password" }, [.. me, "--user", "alice"]));
        AssertIsAlice(await OnTerminalAsync(["alice's password"], "", [.. me, "--user", "alice"]));
        CliRun owner = await InAsync([], me);
        Assert.StartsWith("allowed: owner ", owner.OutputText, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAContextWithFilesOfSecrets_WhenACommandUsesIt_ThenItLogsInAndTheContextHasNoSecret()
    {
        await AddUserAsync("alice");
        string token = await CreateTokenAsync("alice");
        string tokenFile = await WriteSecretAsync("token", token);
        await InHomeAsync(ExitCode.Done, "context", "add", "a", "--server", Address, "--user", "alice",
            "--password-file", PasswordFileOf("alice"));
        await InHomeAsync(ExitCode.Done, "context", "add", "b", "--server", Address, "--token-file", tokenFile);
        foreach (string context in new[] { "a", "b" })
            AssertIsAlice(await InHomeAsync(ExitCode.Done, "acl", "test", "me", "write", "topic:t", "--context", context));
        Assert.Equal(
            [$"a\t{Address}\tno\t*\tuser:alice", $"b\t{Address}\tno\t\ta token"],
            (await InHomeAsync(ExitCode.Done, "context", "list")).OutputLines);
        JsonElement kept = JsonDocument.Parse(
            (await InHomeAsync(ExitCode.Done, "context", "list", "--json")).OutputLines[0]).RootElement;
        Assert.Equal("alice", kept.GetProperty("user").GetString());
        Assert.Equal(PasswordFileOf("alice"), kept.GetProperty("passwordFile").GetString());
        string file = await File.ReadAllTextAsync(PathOf(Path.Combine("home", "equeue", "contexts.json")), Token);
        Assert.DoesNotContain("alice's password", file, StringComparison.Ordinal);
        Assert.DoesNotContain(token, file, StringComparison.Ordinal);

        // Servers of others get nothing of a context's.
        CliRun owner = await InHomeAsync(
            ExitCode.Done, "acl", "test", "me", "write", "topic:t", "--context", "a", "--server", Address);
        Assert.StartsWith("allowed: owner ", owner.OutputText, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAWrongPasswordOrToken_WhenACommandRuns_ThenItSaysAsWhomItCameAndNotHow()
    {
        await AddUserAsync("alice");
        string wrong = await WriteSecretAsync("wrong", "hunter2\n");
        CliRun run = await InAsync([], "topic", "list", "--user", "alice", "--password-file", wrong);
        Assert.Equal(ExitCode.Refused, run.ExitCode);
        Assert.Contains("next: you came as user:alice (--user)", run.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("hunter2", run.Error, StringComparison.Ordinal);

        string token = $"eqt_aaaaaaaa_{new string('s', 43)}";
        run = await InAsync(new() { ["EQUEUE_TOKEN"] = token }, "topic", "list", "--json");
        Assert.Equal(ExitCode.Refused, run.ExitCode);
        Assert.Equal("AuthenticationFailed", CodeOf(run));
        Assert.Contains("the user of the token in EQUEUE_TOKEN", run.Error, StringComparison.Ordinal);
        Assert.DoesNotContain("ssss", run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenRulesThatDoNotAllowIt_WhenACommandRuns_ThenItSaysAsWhomItCameAndHowToLookFurther()
    {
        await AddUserAsync("alice");
        await RunAsync(ExitCode.Done, "", "acl", "grant", "user:alice", "producer", "topic:orders", "--yes");
        string[] asAlice = ["--user", "alice", "--password-file", PasswordFileOf("alice")];
        await RunAsync(ExitCode.Done, "", ["send", "orders", "x", .. asAlice]);
        CliRun refused = await RunAsync(ExitCode.Refused, "", ["topic", "delete", "orders", "--yes", .. asAlice]);
        Assert.Contains("next: you came as user:alice (--user); equeue acl test me", refused.Error, StringComparison.Ordinal);
        CliRun json = await RunAsync(ExitCode.Refused, "", ["user", "list", "--json", .. asAlice]);
        Assert.Equal("NotAuthorized", CodeOf(json));
        CliRun tested = await RunAsync(
            ExitCode.Failed, "", ["acl", "test", "me", "delete", "topic:orders", .. asAlice]);
        Assert.StartsWith("denied: user:alice delete topic:orders: ", tested.OutputText, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenNothingToLogInWith_WhenNoPersonCanBeAsked_ThenItIsAMistakeInItsUse()
    {
        CliRun run = await InAsync([], "topic", "list", "--user", "alice");
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.Contains("--password-file", run.Error, StringComparison.Ordinal);
        run = await InAsync(new() { ["EQUEUE_TOKEN"] = "eqt with space" }, "topic", "list");
        Assert.Equal(ExitCode.Usage, run.ExitCode);
        Assert.DoesNotContain("with space", run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAPasswordThatHasToBeAskedFor_WhenALineIsCompleted_ThenNothingIsAskedAndNothingSuggested()
    {
        await RunAsync(ExitCode.Done, "", "topic", "create", "orders");
        string[] suggest =
            ["completion", "suggest", "--", $"equeue --server {Address} --user alice topic describe o"];
        CliRun asked = await CliRun.RunOnTerminalAsync(suggest);
        Assert.Empty(asked.Output);
        await AddUserAsync("alice");
        var environment = new Dictionary<string, string>
        {
            ["EQUEUE_COMPLETION_TIMEOUT"] = "30s",
            ["EQUEUE_PASSWORD"] = "alice's password",
        };
        CliRun known = await CliRun.RunAsync(suggest, [], environment.GetValueOrDefault, Token);
        Assert.Equal(["orders"], known.OutputLines);
    }

    private static void AssertIsAlice(CliRun run)
    {
        Assert.True(run.ExitCode == ExitCode.Done, run.Error);
        Assert.StartsWith("allowed: user:alice ", run.OutputText, StringComparison.Ordinal);
    }

    private async Task<CliRun> InHomeAsync(int exitCode, params string[] arguments)
    {
        CliRun run = await CliRun.RunAsync(
            arguments, [], name => name is "XDG_CONFIG_HOME" or "APPDATA" ? PathOf("home") : null, Token);
        Assert.True(run.ExitCode == exitCode, $"{string.Join(' ', arguments)}: {run.ExitCode} {run.Error}");
        return run;
    }
}
