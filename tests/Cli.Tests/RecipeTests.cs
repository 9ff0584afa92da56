using System.Text;
using System.Text.RegularExpressions;
using EQueue.Broker;
using EQueue.MessageStore;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Cli.Tests;

/// <summary>The recipes of docs/security.md, command by command as they stand there.</summary>
public sealed partial class RecipeTests : IAsyncLifetime
{
    private const string Document = "docs/security.md";

    private readonly TempDirectory _directory = new();
    private readonly TestAuthority _authority = TestAuthority.Create();
    private EQueueBroker _broker = null!;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private string Socket => $"unix:{_directory["socket"]}";

    private string Address => $"{_broker.EndPoint}";

    public async ValueTask InitializeAsync()
    {
        using TestCertificate server = _authority.Sign();
        Write("broker.pem", server.Pem);
        Write("ca.pem", _authority.Pem);
        await StartAsync(static options => options);
    }

    public async ValueTask DisposeAsync()
    {
        await _broker.DisposeAsync();
        _authority.Dispose();
        _directory.Dispose();
    }

    [Fact]
    public async Task GivenARecipe_WhenLookedFor_ThenEachHasATestHere() => Assert.Equal(
        ["recipe machine", "recipe team", "recipe member", "recipe services", "recipe secret", "recipe break-glass"],
        await Task.FromResult(DocumentFile.Read(Document).Blocks
            .Select(static block => block.Name).Where(static name => name.Length > 0)));

    [Fact]
    public async Task GivenTheRecipeOfOneMachine_WhenFollowed_ThenTheOtherUserMayDoThatAndNoMore()
    {
        await FollowAsync("recipe machine");
        await AssertDeniedAsync("local:1001", "read", "topic:orders-new");
        await AssertDeniedAsync("local:1002", "write", "topic:orders-new");
    }

    [Fact]
    public async Task GivenTheRecipeOfATeam_WhenFollowed_ThenItsMembersLogInAndWhoLeavesIsKeptOut()
    {
        await FollowAsync("recipe team");
        CliRun[] member = await FollowAsync("recipe member", Environment("alice"));
        Assert.Equal(2, member.Length);
        await RunAsync(ExitCode.Done, Environment("alice"), "topic", "create", "orders");
        await RunAsync(ExitCode.Done, Environment("alice"), "user", "disable", "bob");
        CliRun refused = await RunAsync(
            ExitCode.Refused, Environment("bob"), "topic", "list", "--server", Address, "--tls-ca",
            _directory["ca.pem"], "--user", "bob");
        Assert.Contains("is not right", refused.Error, StringComparison.Ordinal);
        await AssertDeniedAsync("user:bob", "administer", "broker");
    }

    [Fact]
    public async Task GivenTheRecipeOfServices_WhenFollowed_ThenEachCertificateMayDoItsOwn()
    {
        await _broker.DisposeAsync();
        await StartAsync(options => options with
        {
            Tls = options.Tls! with
            {
                ClientCertificates = ClientCertificates.Require,
                ClientAuthority = _directory["ca.pem"],
            },
        });
        CliRun[] runs = await FollowAsync("recipe services");
        Assert.StartsWith("denied", runs[^1].OutputText, StringComparison.Ordinal);
        foreach ((string service, int write) in ((string, int)[])
            [("orders.example", ExitCode.Done), ("billing.example", ExitCode.Refused)])
        {
            using TestCertificate certificate = _authority.Sign(service);
            Write($"{service}.pem", certificate.Pem);
            await RunAsync(
                write, Environment(""), "send", "orders", "one", "--server", Address, "--tls-ca", _directory["ca.pem"],
                "--tls-cert", _directory[$"{service}.pem"]);
        }
    }

    [Fact]
    [Follows("who does not exist or is disabled (equeue user list).")]
    public async Task GivenACertificateOfAUserWhoIsMissing_WhenTheAdviceIsFollowed_ThenItShowsAndTheUserIsServed()
    {
        await _broker.DisposeAsync();
        await StartAsync(options => options with
        {
            Tls = options.Tls! with
            {
                ClientCertificates = ClientCertificates.Require,
                ClientAuthority = _directory["ca.pem"],
            },
            Security = options.Security with { CertificateMapping = "cn:*.example -> user:$1" },
        });
        using TestCertificate certificate = _authority.Sign("shop.example");
        Write("shop.pem", certificate.Pem);
        string[] send =
        [
            "send", "orders", "one", "--server", Address, "--tls-ca", _directory["ca.pem"], "--tls-cert",
            _directory["shop.pem"],
        ];
        CliRun refused = await RunAsync(ExitCode.Refused, Environment(""), send);
        string advice = Regex.Match(refused.Error, @"\(equeue ([a-z ]+)\)").Groups[1].Value;
        Assert.Empty((await RunAsync(ExitCode.Done, Owner(), advice.Split(' '))).OutputLines);
        await RunAsync(ExitCode.Done, Owner(), "user", "add", "shop", "--no-password");
        Assert.Single((await RunAsync(ExitCode.Done, Owner(), advice.Split(' '))).OutputLines);
        await RunAsync(ExitCode.Done, Environment(""), send);
    }

    [Fact]
    public async Task GivenTheRecipeOfASecret_WhenFollowed_ThenTheTokenInTheFileServes()
    {
        await FollowAsync("recipe secret");
        await RunAsync(
            ExitCode.Done, name => name == "EQUEUE_TOKEN_FILE" ? _directory["token"] : null,
            "send", "orders", "one", "--server", Address, "--tls-ca", _directory["ca.pem"]);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task GivenRulesThatShutEverybodyOut_WhenTheRecipeIsFollowed_ThenAliceAdministersAgain(bool isByRestart)
    {
        await RunAsync(ExitCode.Done, Owner("alice"), "user", "add", "alice");
        await RunAsync(ExitCode.Done, Owner(), "acl", "deny", "*", "all", "broker", "--yes");
        await RunAsync(ExitCode.Done, Owner(), "acl", "allow", "user:alice", "read", "topic:t");
        await AssertDeniedAsync("user:alice", "administer", "broker");
        if (isByRestart)
        {
            await _broker.DisposeAsync();
            await StartAsync(static options => options with
            {
                Security = options.Security with { Superusers = ["user:alice"] },
            });
        }
        else
        {
            CliRun[] runs = await FollowAsync("recipe break-glass");
            Assert.StartsWith("denied", runs[1].OutputText, StringComparison.Ordinal);
            Assert.Contains("deny * all broker", runs[1].OutputText, StringComparison.Ordinal);
        }

        await RunAsync(
            ExitCode.Done, Environment("alice"), "acl", "list", "--server", Address, "--tls-ca", _directory["ca.pem"],
            "--user", "alice");
    }

    private async Task StartAsync(Func<BrokerOptions, BrokerOptions> change) =>
        _broker = await EQueueBroker.StartAsync(change(new BrokerOptions
        {
            Listen = $"127.0.0.1:0,{Socket}",
            Store = new StoreOptions { DataDirectory = _directory["data"], SegmentSizeBytes = 8 << 20 },
            DataDirectory = _directory["data"],
            Tls = new ServerTlsOptions { Certificate = _directory["broker.pem"] },
            Security = new SecurityOptions { Unauthenticated = UnauthenticatedAccess.Owner },
        }));

    /// <summary>Runs each command of a block, as the owner on the broker's machine unless the environment says
    /// otherwise.</summary>
    private async Task<CliRun[]> FollowAsync(string recipe, Func<string, string?>? variable = null)
    {
        var runs = new List<CliRun>();
        foreach (string line in DocumentFile.Read(Document).Block(recipe).Lines.Where(
            static line => line.StartsWith("equeue ", StringComparison.Ordinal)))
        {
            string[] halves = line.Split('#')[0].Split(" > ");
            string[] words = [.. Word().Matches(halves[0]).Skip(1).Select(static word => word.Value.Trim('\''))];
            int exitCode = line.Contains("exit code 1", StringComparison.Ordinal)
                || (recipe == "recipe break-glass" && words[1] == "test") ? ExitCode.Failed : ExitCode.Done;
            CliRun run = await RunAsync(
                exitCode,
                variable ?? Owner(words[0] == "user" ? words[2] : ""),
                [
                    .. words.Select(word => word
                        .Replace("broker.example:9490", Address, StringComparison.Ordinal)
                        .Replace("ca.pem", _directory["ca.pem"], StringComparison.Ordinal)),
                ]);
            if (halves.Length > 1)
                await File.WriteAllTextAsync(_directory[halves[1].Trim()], run.OutputText, Token);
            runs.Add(run);
        }

        Assert.NotEmpty(runs);
        return [.. runs];
    }

    private Task<CliRun> AssertDeniedAsync(string principal, string operation, string resource) =>
        RunAsync(ExitCode.Failed, Owner(), "acl", "test", principal, operation, resource);

    /// <summary>Of the owner, who types the new password of a user when asked for it.</summary>
    private Func<string, string?> Owner(string user = "") => name => name switch
    {
        "EQUEUE_SERVER" => Socket,
        "typed" => $"{user}'s\n",
        _ => null,
    };

    /// <summary>Of a person with contexts of their own, who types the password when asked for it.</summary>
    private Func<string, string?> Environment(string user) => name => name switch
    {
        "XDG_CONFIG_HOME" or "APPDATA" => _directory["home"],
        "EQUEUE_PASSWORD" when user.Length > 0 => $"{user}'s",
        _ => null,
    };

    private static async Task<CliRun> RunAsync(
        int exitCode, Func<string, string?> variable, params string[] words)
    {
        CliRun run = await CliRun.RunAsync(words, Encoding.UTF8.GetBytes(variable("typed") ?? ""), variable, Token);
        Assert.True(run.ExitCode == exitCode, $"{string.Join(' ', words)}: {run.ExitCode} {run.OutputText}{run.Error}");
        return run;
    }

    private void Write(string name, string text) => File.WriteAllText(_directory[name], text);

    [GeneratedRegex(@"'[^']*'|[^\s']+")]
    private static partial Regex Word();
}
