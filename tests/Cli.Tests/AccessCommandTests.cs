using System.Globalization;
using System.Text;
using System.Text.Json;
using EQueue.Protocol;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary><c>user ...</c>, <c>token ...</c> and <c>acl ...</c> against a real broker, as its owner and as others: what
/// is done, what is printed, what is asked before.</summary>
public sealed class AccessCommandTests : SecuredTest
{

    [Fact]
    public async Task GivenUsers_WhenAddedChangedAndRemoved_ThenTheListHasEachAsItIs()
    {
        CliRun added = await RunAsync(
            ExitCode.Done, "hunter2\n", "user", "add", "alice", "--group", "support", "--group", "billing");
        Assert.Equal("added user alice\n", added.Error.ReplaceLineEndings("\n"));
        Assert.Empty(added.Output);
        Assert.Equal(
            """{"name":"shop","disabled":false,"hasPassword":false,"groups":[]}""",
            (await RunAsync(ExitCode.Done, "", "user", "add", "shop", "--no-password", "--json")).OutputText.Trim());
        Assert.Equal(
            ["alice\tenabled\tyes\tbilling,support", "shop\tenabled\tno\t"],
            (await RunAsync(ExitCode.Done, "", "user", "list")).OutputLines);

        await RunAsync(ExitCode.Done, "", "user", "disable", "alice");
        await RunAsync(ExitCode.Done, "", "user", "groups", "alice", "team");
        await RunAsync(ExitCode.Done, "new\n", "user", "passwd", "shop");
        Assert.Equal(
            [
                """{"name":"alice","disabled":true,"hasPassword":true,"groups":["team"]}""",
                """{"name":"shop","disabled":false,"hasPassword":true,"groups":[]}""",
            ],
            (await RunAsync(ExitCode.Done, "", "user", "list", "--json")).OutputLines);
        await RunAsync(ExitCode.Done, "", "user", "enable", "alice");
        await RunAsync(ExitCode.Done, "", "user", "groups", "alice", "--none");
        await RunAsync(ExitCode.Done, "", "user", "remove", "shop");
        Assert.Equal(
            ["alice\tenabled\tyes\t"], (await RunAsync(ExitCode.Done, "", "user", "list")).OutputLines);
    }

    /// <summary>To change a user that is not there would make it.</summary>
    [Theory]
    [InlineData("user passwd alcie")]
    [InlineData("user disable alcie")]
    [InlineData("user enable alcie")]
    [InlineData("user groups alcie team")]
    [InlineData("user remove alcie")]
    [InlineData("user remove alcie --dry-run")]
    public async Task GivenAUserThatIsNotThere_WhenChanged_ThenNoneIsMadeAndTheNearOneIsAskedFor(string line)
    {
        await RunAsync(ExitCode.Done, "", "user", "add", "alice", "--no-password");
        CliRun run = await RunAsync(ExitCode.NotFound, "pw\n", line.Split(' '));
        Assert.Contains("There is no user 'alcie'. Did you mean 'alice'?", run.Error, StringComparison.Ordinal);
        Assert.Equal(["alice\tenabled\tno\t"], (await RunAsync(ExitCode.Done, "", "user", "list")).OutputLines);
    }

    [Fact]
    public async Task GivenAUserThatIsThere_WhenAddedAgain_ThenItIsRefusedAndStaysAsItWas()
    {
        await RunAsync(ExitCode.Done, "hunter2\n", "user", "add", "alice");
        CliRun again = await RunAsync(ExitCode.Refused, "other\n", "user", "add", "alice", "--json");
        Assert.Equal("InvalidArgument", CodeOf(again));
        Assert.True(await MayLogInAsync("alice", "hunter2"));
    }

    [Fact]
    public async Task GivenAPassword_WhenItComesFromWhereItMay_ThenItIsTheSecretOfThatLine()
    {
        await RunAsync(ExitCode.Done, "hunter2\n", "user", "add", "piped");
        string file = PathOf("password");
        await File.WriteAllTextAsync(file, "hunter3\n", Token);
        if (!OperatingSystem.IsWindows())
        {
            CliRun open = await RunAsync(ExitCode.Usage, "", "user", "add", "filed", "--new-password-file", file);
            Assert.Contains("chmod 600", open.Error, StringComparison.Ordinal);
            File.SetUnixFileMode(file, UnixFileMode.UserRead);
        }

        await RunAsync(ExitCode.Done, "", "user", "add", "filed", "--new-password-file", file);
        await RunAsync(ExitCode.NotFound, "", "user", "passwd", "piped", "--new-password-file", PathOf("none"));
        await RunAsync(ExitCode.Usage, "", "user", "passwd", "piped");
        await RunAsync(ExitCode.Usage, "two\nlines\n", "user", "passwd", "piped");
        await RunAsync(ExitCode.Usage, "\u0416\u0308\n", "user", "passwd", "piped");
        Assert.True(await MayLogInAsync("piped", "hunter2"));
        Assert.True(await MayLogInAsync("filed", "hunter3"));
        Assert.False(await MayLogInAsync("filed", "hunter2"));
    }

    [Fact]
    public async Task GivenATerminal_WhenAPasswordIsNeeded_ThenItIsAskedForTwiceAndShownNowhere()
    {
        CliRun added = await OnTerminalAsync(["hunter2", "hunter2"], "", "user", "add", "alice");
        Assert.Equal(ExitCode.Done, added.ExitCode);
        Assert.DoesNotContain("hunter2", added.Error + added.OutputText, StringComparison.Ordinal);
        CliRun differs = await OnTerminalAsync(["hunter2", "hunter3"], "", "user", "passwd", "alice");
        Assert.Equal(ExitCode.Usage, differs.ExitCode);
        Assert.Contains("not the same", differs.Error, StringComparison.Ordinal);
        Assert.Equal(ExitCode.Usage, (await OnTerminalAsync([""], "", "user", "passwd", "alice")).ExitCode);
        Assert.True(await MayLogInAsync("alice", "hunter2"));
    }

    [Fact]
    public async Task GivenATokenIsMade_WhenItIsPrinted_ThenItStandsAloneOnStandardOutput()
    {
        await RunAsync(ExitCode.Done, "", "user", "add", "shop", "--no-password");
        CliRun made = await RunAsync(ExitCode.Done, "", "token", "create", "shop", "--note", "the corner");
        string token = Assert.Single(made.OutputLines);
        Assert.Matches("^eqt_[A-Za-z0-9_-]{8}_[A-Za-z0-9_-]{43}$", token);
        Assert.Equal($"{token}\n", made.OutputText);
        Assert.Contains("it is not shown again", made.Error, StringComparison.Ordinal);
        Assert.DoesNotContain(token[13..], made.Error, StringComparison.Ordinal);
        JsonElement listed = JsonOf(await RunAsync(ExitCode.Done, "", "token", "list", "--json"));
        Assert.Equal("the corner", listed.GetProperty("note").GetString());
        AssertEndsIn(listed, TimeSpan.FromDays(30));
        AssertEndsIn(
            JsonOf(await RunAsync(ExitCode.Done, "", "token", "create", "shop", "--expires", "12h", "--json")),
            TimeSpan.FromHours(12));
    }

    [Fact]
    public async Task GivenATokenIsMadeAsJson_WhenItIsPrinted_ThenItHasItsIdUserAndEnd()
    {
        await RunAsync(ExitCode.Done, "", "user", "add", "shop", "--no-password");
        JsonElement line = JsonOf(
            await RunAsync(ExitCode.Done, "", "token", "create", "shop", "--no-expiry", "--json"));
        Assert.Equal(
            ["id", "token", "user", "expires"], line.EnumerateObject().Select(static member => member.Name));
        Assert.Equal("shop", line.GetProperty("user").GetString());
        Assert.Equal(JsonValueKind.Null, line.GetProperty("expires").ValueKind);
        string id = line.GetProperty("id").GetString()!;
        Assert.StartsWith($"eqt_{id}_", line.GetProperty("token").GetString(), StringComparison.Ordinal);
        Assert.Equal(
            id, JsonOf(await RunAsync(ExitCode.Done, "", "token", "list", "--json")).GetProperty("id").GetString());
        CliRun stranger = await RunAsync(ExitCode.Refused, "", "token", "create", "stranger", "--json");
        Assert.Equal("InvalidArgument", CodeOf(stranger));
    }

    [Fact]
    public async Task GivenTokens_WhenListedAndRevoked_ThenTheIdOrTheWholeTokenNamesOne()
    {
        await RunAsync(ExitCode.Done, "", "user", "add", "shop", "--no-password");
        await RunAsync(ExitCode.Done, "", "user", "add", "bank", "--no-password");
        string first = await CreateTokenAsync("shop");
        string second = await CreateTokenAsync("shop");
        string third = await CreateTokenAsync("bank");
        string[] listed = (await RunAsync(ExitCode.Done, "", "token", "list", "shop")).OutputLines;
        Assert.Equal(
            new[] { IdOf(first), IdOf(second) }.Order(StringComparer.Ordinal),
            listed.Select(static line => line.Split('\t')[0]));
        Assert.All(listed, static line => Assert.EndsWith("\tnever\t", line, StringComparison.Ordinal));
        CliRun preview = await RunAsync(ExitCode.Done, "", "user", "remove", "shop", "--dry-run");
        Assert.Contains("with 2 tokens", preview.Error, StringComparison.Ordinal);

        await RunAsync(ExitCode.Done, "", "token", "revoke", IdOf(first), "--dry-run");
        Assert.Equal(3, (await RunAsync(ExitCode.Done, "", "token", "list")).OutputLines.Length);
        await RunAsync(ExitCode.Done, "", "token", "revoke", IdOf(first));
        JsonElement whole = JsonOf(await RunAsync(ExitCode.Done, "", "token", "revoke", second, "--json"));
        Assert.Equal(
            ["id", "user", "created", "expires", "note"],
            whole.EnumerateObject().Select(static member => member.Name));
        Assert.Equal(IdOf(second), whole.GetProperty("id").GetString());
        string left = Assert.Single((await RunAsync(ExitCode.Done, "", "token", "list")).OutputLines);
        Assert.StartsWith($"{IdOf(third)}\tbank\t", left, StringComparison.Ordinal);
        await RunAsync(ExitCode.NotFound, "", "token", "revoke", IdOf(first));
    }

    [Fact]
    public async Task GivenNoRules_WhenTheFirstIsSet_ThenItIsSaidWhatThatMeansAndAgreedToBefore()
    {
        string[] allow = ["acl", "allow", "user:shop", "write", "topic:orders*"];
        foreach (string[] first in new[]
                 {
                     allow, ["acl", "deny", "anonymous", "all", "topic:*"], ["acl", "grant", "user:shop", "viewer"],
                 })
        {
            CliRun asked = await RunAsync(ExitCode.Usage, "", first);
            Assert.Contains("nothing is allowed that no rule allows", asked.Error, StringComparison.Ordinal);
            Assert.Contains("--yes", asked.Error, StringComparison.Ordinal);
            Assert.Empty(await RulesAsync());
        }

        CliRun no = await OnTerminalAsync([], "n\n", allow);
        Assert.Equal(ExitCode.Failed, no.ExitCode);
        Assert.Contains("nothing was changed", no.Error, StringComparison.Ordinal);
        Assert.Equal(ExitCode.Failed, (await OnTerminalAsync([], "", allow)).ExitCode);
        Assert.Equal(ExitCode.Usage, (await OnTerminalAsync([], "y\n", [.. allow, "--json"])).ExitCode);
        Assert.Empty(await RulesAsync());
        Assert.Equal(ExitCode.Done, (await OnTerminalAsync([], "y\n", allow)).ExitCode);
        Assert.Equal(["allow\tuser:shop\twrite\ttopic:orders*"], await RulesAsync());

        // The second one needs no word more.
        CliRun second = await RunAsync(ExitCode.Done, "", "acl", "allow", "user:shop", "create", "topic:orders*");
        Assert.DoesNotContain("nothing is allowed", second.Error, StringComparison.Ordinal);
        CliRun again = await RunAsync(ExitCode.Done, "", allow);
        Assert.Contains("there already", again.Error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenTheOneWhoSetsTheFirstRule_WhenItWouldShutThemOut_ThenItSaysSo()
    {
        await AddUserAsync("alice");
        string[] asAlice = ["--user", "alice", "--password-file", PasswordFileOf("alice")];
        CliRun shut = await RunAsync(
            ExitCode.Usage, "", ["acl", "allow", "user:shop", "write", "topic:orders", .. asAlice]);
        Assert.Contains("You are user:alice", shut.Error, StringComparison.Ordinal);
        CliRun stays = await RunAsync(
            ExitCode.Done, "", ["acl", "allow", "user:alice", "administer", "broker", "--yes", .. asAlice]);
        Assert.DoesNotContain("You are", stays.Error, StringComparison.Ordinal);
        await RunAsync(ExitCode.Done, "", "acl", "remove", "allow", "user:alice", "administer", "broker", "--yes");
        CliRun owner = await RunAsync(
            ExitCode.Done, "", "acl", "allow", "user:shop", "write", "topic:orders", "--yes");
        Assert.DoesNotContain("You are", owner.Error, StringComparison.Ordinal);
    }

    /// <summary>The first rule of the role shuts out who sets them.</summary>
    [Fact]
    public async Task GivenARuleOfARoleThatIsRefused_WhenOthersAreSet_ThenItIsDoneInPart()
    {
        await AddUserAsync("alice");
        CliRun part = await RunAsync(
            ExitCode.PartlyDone, "", "acl", "grant", "user:bob", "viewer", "--yes", "--user", "alice",
            "--password-file", PasswordFileOf("alice"));
        Assert.Contains("Set 1 of 3 rules", part.Error, StringComparison.Ordinal);
        Assert.Contains("you came as user:alice (--user)", part.Error, StringComparison.Ordinal);
        Assert.Equal(["allow\tuser:bob\tdescribe\ttopic:*"], await RulesAsync());
    }

    [Fact]
    public async Task GivenTheLastRule_WhenItIsRemoved_ThenItIsSaidThatAllMayThenDoEverything()
    {
        await RunAsync(ExitCode.Done, "", "acl", "allow", "user:a", "write", "topic:t", "--yes");
        await RunAsync(ExitCode.Done, "", "acl", "deny", "user:b", "write", "topic:t");
        await RunAsync(ExitCode.Done, "", "acl", "remove", "deny", "user:b", "write", "topic:t");
        string[] last = ["acl", "remove", "allow", "user:a", "write", "topic:t"];
        CliRun asked = await RunAsync(ExitCode.Usage, "", last);
        Assert.Contains("everybody who is admitted may do everything", asked.Error, StringComparison.Ordinal);
        await RunAsync(ExitCode.Done, "", [.. last, "--dry-run"]);
        Assert.Single(await RulesAsync());
        await RunAsync(ExitCode.Done, "", [.. last, "--yes"]);
        Assert.Empty(await RulesAsync());
        await RunAsync(ExitCode.NotFound, "", [.. last, "--yes"]);
    }

    [Fact]
    public async Task GivenRules_WhenListedAndTested_ThenEachIsALineAndTheExitCodeDecides()
    {
        await RunAsync(ExitCode.Done, "", "acl", "grant", "user:a", "consumer", "topic:t", "group:g", "--yes");
        await RunAsync(ExitCode.Done, "", "acl", "allow", "*", "describe", "broker");
        Assert.Equal(
            ["allow\t*\tdescribe\tbroker", "allow\tuser:a\tread\tgroup:g", "allow\tuser:a\tread\ttopic:t"],
            (await RunAsync(ExitCode.Done, "", "acl", "list")).OutputLines);
        Assert.Equal(
            """{"effect":"allow","principal":"*","operation":"describe","resource":"broker"}""",
            (await RunAsync(ExitCode.Done, "", "acl", "list", "*", "--json")).OutputText.Trim());

        CliRun allowed = await RunAsync(ExitCode.Done, "", "acl", "test", "user:a", "read", "topic:t");
        Assert.Equal("allowed: user:a read topic:t: allow user:a read topic:t\n", allowed.OutputText);
        CliRun denied = await RunAsync(ExitCode.Failed, "", "acl", "test", "user:a", "write", "topic:t", "--json");
        Assert.Equal(
            """{"principal":"user:a","operation":"write","resource":"topic:t","allowed":false,"reason":"no rule allows it"}""",
            denied.OutputText.Trim());
        Assert.Empty(denied.Error);
        CliRun me = await RunAsync(ExitCode.Done, "", "acl", "test", "me", "write", "topic:t");
        Assert.StartsWith("allowed: owner write topic:t", me.OutputText, StringComparison.Ordinal);
        CliRun near = await RunAsync(ExitCode.NotFound, "", "acl", "remove", "allow", "user:a", "read", "topic:tt");
        Assert.Contains("Did you mean 'allow user:a read topic:t'?", near.Error, StringComparison.Ordinal);
    }

    private static void AssertEndsIn(JsonElement token, TimeSpan lifetime) => Assert.InRange(
        DateTimeOffset.Parse(token.GetProperty("expires").GetString()!, CultureInfo.InvariantCulture)
            - TimeProvider.System.GetUtcNow(),
        lifetime - TimeSpan.FromMinutes(5), lifetime + TimeSpan.FromMinutes(1));

    private static string IdOf(string token) => token.Substring("eqt_".Length, 8);

    private async Task<string[]> RulesAsync() => (await RunAsync(ExitCode.Done, "", "acl", "list")).OutputLines;
}
