using System.Text;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker.Tests;

/// <summary>Logging in with a password or a token, and everything that must not work.</summary>
public sealed class LoginTests : IAsyncLifetime
{
    private const string Right = "correct horse";

    private readonly ManualTime _time = new();
    private readonly AuditLines _audit = new();
    private TestBroker _broker = null!;
    private TestPeer _owner = null!;

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync(
            TestBroker.SmallOptions() with
            {
                Security = new SecurityOptions { MaxLoginsAtOnce = 12, Audit = _audit },
            },
            _time);
        _owner = await _broker.ConnectAsync();
        await SetAsync("alice", Right);
    }

    public async ValueTask DisposeAsync()
    {
        await _owner.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenTheRightPassword_WhenLoggedIn_ThenThePrincipalIsTheUserAndTheBrokerProvesItself()
    {
        using LoginPeer peer = await ConnectAsync();
        LoginAnswer answer = await peer.LogInAsync("alice", Right);
        Assert.Equal("user:alice", answer.Hello?.Principal);
        Assert.True(answer.Hello!.IsDone);
    }

    [Fact]
    public async Task GivenAWrongPasswordAnUnknownOrADisabledUser_WhenLoggedIn_ThenTheAnswersAreTheSame()
    {
        await SetAsync("bob", Right);
        await _owner.InvokeAsync(new SetUserRequest("bob", null, IsDisabled: true, null, false));
        await _owner.InvokeAsync(new SetUserRequest("carol", null, null, null, true));
        var answers = new HashSet<(ErrorCode, string)>();
        foreach ((string user, string password) in ((string, string)[])
            [("alice", "wrong"), ("mallory", Right), ("bob", Right), ("carol", Right)])
        {
            using LoginPeer peer = await ConnectAsync();
            LoginAnswer answer = await peer.LogInAsync(user, password);
            Assert.Equal(ErrorCode.AuthenticationFailed, answer.Error);
            answers.Add((answer.Error, answer.Message));
            Assert.True(await peer.IsClosedAsync());
        }

        Assert.Single(answers);
        Assert.Equal(4, _audit.Lines.Count(line => line.Operation == "Login"));
        Assert.Equal(4, await _owner.FigureAsync("broker.refusedLogins"));
    }

    [Fact]
    public async Task GivenAnUnknownUser_WhenAskedTwice_ThenTheSaltIsTheSameAsOfAUserThatExists()
    {
        Assert.Equal(await SaltAsync("mallory"), await SaltAsync("mallory"));
        Assert.NotEqual(await SaltAsync("mallory"), await SaltAsync("mallet"));
    }

    [Fact]
    public async Task GivenTheFinalMessageOfAnotherLogin_WhenReplayed_ThenItIsRefused()
    {
        var client = new ScramClient("alice", Right);
        using LoginPeer first = await ConnectAsync();
        LoginAnswer challenge = await first.SayAsync(Mechanisms.ScramSha256, client.FirstMessage());
        Assert.Equal(ScramError.None, client.Answer(challenge.Hello!.Challenge.Span, out byte[] final));
        using LoginPeer second = await ConnectAsync();
        Assert.False((await second.SayAsync(Mechanisms.ScramSha256, client.FirstMessage())).Hello!.IsDone);
        Assert.Equal(ErrorCode.AuthenticationFailed, (await second.SayAsync(Mechanisms.ScramSha256, final)).Error);
        Assert.True((await first.SayAsync(Mechanisms.ScramSha256, final)).Hello!.IsDone);
    }

    [Fact]
    public async Task GivenALoginThatBegan_WhenTheMechanismChanges_ThenItIsRefused()
    {
        string token = await TokenAsync("alice", 0);
        foreach ((string mechanism, byte[] credentials) in ((string, byte[])[])
            [("", []), (Mechanisms.Token, Encoding.UTF8.GetBytes(token)), ("PLAIN", [1]), (Mechanisms.InProcess, [1])])
        {
            using LoginPeer peer = await ConnectAsync();
            var client = new ScramClient("alice", Right);
            Assert.False((await peer.SayAsync(Mechanisms.ScramSha256, client.FirstMessage())).Hello!.IsDone);
            Assert.Equal(ErrorCode.AuthenticationFailed, (await peer.SayAsync(mechanism, credentials)).Error);
            Assert.True(await peer.IsClosedAsync());
            _time.Advance(TimeSpan.FromMinutes(2));
        }
    }

    [Theory]
    [InlineData("PLAIN")]
    [InlineData("SCRAM-SHA-1")]
    [InlineData(Mechanisms.InProcess)]
    public async Task GivenAMechanismThatIsNotServedHere_WhenNamed_ThenItIsRefusedThoughThePeerIsTheOwner(
        string mechanism)
    {
        using LoginPeer peer = await ConnectAsync();
        LoginAnswer answer = await peer.SayAsync(mechanism, "owner"u8.ToArray());
        Assert.Equal(ErrorCode.AuthenticationFailed, answer.Error);
        Assert.Contains(Mechanisms.ScramSha256, answer.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAToken_WhenItExpires_ThenItsConnectionIsClosedAndItOpensNoOther()
    {
        long soon = _time.GetUtcNow().AddMinutes(1).ToUnixTimeMilliseconds();
        string token = await TokenAsync("alice", soon);
        using LoginPeer peer = await ConnectAsync();
        Assert.Equal("user:alice", (await SayTokenAsync(peer, token)).Hello?.Principal);

        _time.Advance(TimeSpan.FromMinutes(1) + TimeSpan.FromSeconds(5));

        Assert.True(await peer.IsClosedAsync());

        // A clock that is set back brings it back no more.
        _time.SetWallClock(TimeSpan.FromMinutes(-30));
        using LoginPeer later = await ConnectAsync();
        Assert.Equal(ErrorCode.AuthenticationFailed, (await SayTokenAsync(later, token)).Error);
    }

    [Fact]
    public async Task GivenATokenOfAUser_WhenItIsRevokedOrTheUserIsDisabledOrRemoved_ThenTheConnectionIsClosed()
    {
        foreach (Func<string, Task> end in (Func<string, Task>[])
            [
                async token => await _owner.InvokeAsync(new RevokeTokenRequest(token.Substring(4, 8))),
                async _ => await _owner.InvokeAsync(new SetUserRequest("bob", null, IsDisabled: true, null, false)),
                async _ => await _owner.InvokeAsync(new DeleteUserRequest("bob")),
            ])
        {
            await _owner.InvokeAsync(new SetUserRequest("bob", null, IsDisabled: false, null, false));
            string token = await TokenAsync("bob", 0);
            using LoginPeer peer = await ConnectAsync();
            Assert.Equal("user:bob", (await SayTokenAsync(peer, token)).Hello?.Principal);
            await end(token);
            _time.Advance(TimeSpan.FromSeconds(2));
            Assert.True(await peer.IsClosedAsync());
            using LoginPeer later = await ConnectAsync();
            Assert.Equal(ErrorCode.AuthenticationFailed, (await SayTokenAsync(later, token)).Error);
        }

        // A user who is made again has none of the first one's tokens.
        await _owner.InvokeAsync(new SetUserRequest("bob", null, null, null, true));
        Assert.Empty((await _owner.InvokeAsync(new ListTokensRequest(null, 10))).Tokens);
    }

    [Fact]
    public async Task GivenSomebodyAdmittedForARequest_WhenTheCredentialsOrTheRightEnd_ThenTheRequestHearsOfIt()
    {
        await SetAsync("bob", Right);
        string token = await TokenAsync("bob", 0);
        var describe = new AccessRule(RuleEffect.Allow, "user:bob", Permission.Describe, ResourceKind.Broker, "");
        await _owner.InvokeAsync(new SetRuleRequest(describe with { Principal = "user:else" }, false));
        foreach ((ErrorCode reason, Func<Task> end) in ((ErrorCode, Func<Task>)[])
            [
                (ErrorCode.NotAuthorized, async () => await _owner.InvokeAsync(new SetRuleRequest(describe, true))),
                (ErrorCode.Unauthenticated,
                    async () => await _owner.InvokeAsync(new SetUserRequest("bob", null, true, null, false))),
                (ErrorCode.Unauthenticated,
                    async () => await _owner.InvokeAsync(new RevokeTokenRequest(token.Substring(4, 8)))),
            ])
        {
            await _owner.InvokeAsync(new SetRuleRequest(describe, false));
            await _owner.InvokeAsync(new SetUserRequest("bob", null, false, null, false));
            using Admission bob = Admit(token);
            using Admission other = _broker.Broker.AdmitHttp(PeerPlace.Loopback, LoopbackPeer.OwnUser, null, "", "");
            bob.Check(Opcode.Stats, Permission.Describe, ResourceKind.Broker, "");
            other.Check(Opcode.Stats, Permission.Describe, ResourceKind.Broker, "");
            _time.Advance(TimeSpan.FromSeconds(2));
            Assert.False(bob.Ended.IsCancellationRequested);
            await end();
            _time.Advance(TimeSpan.FromSeconds(2));
            await Support.Eventually.TrueAsync(() => bob.Ended.IsCancellationRequested);
            Assert.Equal(reason, bob.Reason?.Code);
            Assert.False(other.Ended.IsCancellationRequested);
        }

        Assert.Equal(ErrorCode.AuthenticationFailed, Assert.Throws<EQueueException>(() => Admit(token)).Code);

        Admission Admit(string shown) =>
            _broker.Broker.AdmitHttp(PeerPlace.Loopback, 65_534, shown, "127.0.0.1:1", "test");
    }

    [Theory]
    [InlineData("[2001:db8:1:2::1]:1", "[2001:db8:1:2:ffff::2]:2", true)]
    [InlineData("[2001:db8:1:2::1]:1", "[2001:db8:1:3::1]:1", false)]
    [InlineData("[::ffff:192.0.2.1]:1", "192.0.2.1:2", true)]
    [InlineData("192.0.2.1:1", "192.0.2.2:1", false)]
    public void GivenFailuresFromOneAddress_WhenAnotherLogsIn_ThenItWaitsIfItMayBeTheSameHost(
        string one, string other, bool waits)
    {
        var guard = new LoginGuard(_time);
        for (int i = 0; i < LoginGuard.FreeFailures; i++)
            guard.Failed(SourceOf(one), null);
        if (waits)
        {
            Assert.Equal(
                ErrorCode.Throttled, Assert.Throws<EQueueException>(() => guard.Check(SourceOf(other), null)).Code);
        }
        else
        {
            guard.Check(SourceOf(other), null);
        }

        static string SourceOf(string address) => new PeerFacts(PeerPlace.Remote, null, null, true, address).Source;
    }

    [Fact]
    public async Task GivenAUserWhoDoesNotExist_WhenChangedAsOneThatMust_ThenNoneIsMade()
    {
        EQueueException refusal = await _owner.RefusalAsync(
            new SetUserRequest("bob", null, true, null, MustBeNew: false, MustExist: true));
        Assert.Equal((ErrorCode.InvalidArgument, "There is no user 'bob'."), (refusal.Code, refusal.Message));
        Assert.DoesNotContain(
            (await _owner.InvokeAsync(new ListUsersRequest(null, 10))).Users, static user => user.Name == "bob");
        await _owner.InvokeAsync(new SetUserRequest("alice", null, true, null, MustBeNew: false, MustExist: true));
    }

    [Fact]
    public async Task GivenAPasswordThatChanges_WhenAConnectionHasTheOldOne_ThenItIsClosed()
    {
        using LoginPeer peer = await ConnectAsync();
        Assert.True((await peer.LogInAsync("alice", Right)).Hello!.IsDone);
        await SetAsync("alice", "another");
        _time.Advance(TimeSpan.FromSeconds(2));
        Assert.True(await peer.IsClosedAsync());
    }

    [Fact]
    public async Task GivenFiveFailures_WhenTheSixthComesAtOnce_ThenItWaitsAndTheRightPasswordWorksAfterwards()
    {
        for (int i = 0; i < LoginGuard.FreeFailures; i++)
        {
            using LoginPeer peer = await ConnectAsync();
            Assert.Equal(ErrorCode.AuthenticationFailed, (await peer.LogInAsync("alice", $"wrong {i}")).Error);
        }

        using LoginPeer early = await ConnectAsync();
        LoginAnswer answer = await early.LogInAsync("alice", Right);
        Assert.Equal(ErrorCode.Throttled, answer.Error);
        Assert.Contains("may be tried in", answer.Message, StringComparison.Ordinal);
        _time.Advance(TimeSpan.FromSeconds(3));
        using LoginPeer late = await ConnectAsync();
        Assert.True((await late.LogInAsync("alice", Right)).Hello!.IsDone);
    }

    [Fact]
    public async Task GivenAllLoginsUnderWay_WhenOneMoreBegins_ThenLimitReachedNamesTheSettingUntilOneEnds()
    {
        var under = new List<LoginPeer>();
        for (int i = 0; i < 3; i++)
        {
            LoginPeer peer = await ConnectAsync();
            under.Add(peer);
            Assert.False((await peer.SayAsync(
                Mechanisms.ScramSha256, new ScramClient("alice", Right).FirstMessage())).Hello!.IsDone);
        }

        using LoginPeer fourth = await ConnectAsync();
        LoginAnswer answer = await fourth.LogInAsync("alice", Right);
        Assert.Equal(ErrorCode.LimitReached, answer.Error);
        Assert.Contains("Security:MaxLoginsAtOnce", answer.Message, StringComparison.Ordinal);
        under.ForEach(peer => peer.Dispose());
        await Support.Eventually.TrueAsync(async () =>
        {
            using LoginPeer next = await ConnectAsync();
            return (await next.LogInAsync("alice", Right)).Hello is { IsDone: true };
        });
    }

    [Fact]
    public async Task GivenBytesThatAreNoScram_WhenSent_ThenTheyAreRefusedAndTheBrokerServesOn()
    {
        var random = new Random(7);
        for (int i = 0; i < 200; i++)
        {
            byte[] bytes = new byte[random.Next(300)];
            random.NextBytes(bytes);
            using LoginPeer peer = await ConnectAsync();
            Assert.NotEqual(ErrorCode.None, (await peer.SayAsync(Mechanisms.ScramSha256, bytes)).Error);
        }

        Assert.Single((await _owner.InvokeAsync(new ListUsersRequest(null, 10))).Users);
    }

    [Fact]
    public async Task GivenALoginOfVersionZero_WhenTheMechanismHasSteps_ThenTheVersionIsAskedFor()
    {
        using LoginPeer peer = await ConnectAsync();
        LoginAnswer answer = await peer.SayAsync(
            Mechanisms.ScramSha256, new ScramClient("alice", Right).FirstMessage(), version: 0);
        Assert.Equal(ErrorCode.UnsupportedVersion, answer.Error);
    }

    private Task<LoginPeer> ConnectAsync() => LoginPeer.ConnectAsync(_broker.EndPoint);

    private async Task SetAsync(string user, string password) => await _owner.InvokeAsync(
        new SetUserRequest(user, ScramSecret.Create(password, ScramSecret.MinIterations), null, null, false));

    private async Task<string> TokenAsync(string user, long expiresMs) =>
        (await _owner.InvokeAsync(new CreateTokenRequest(user, expiresMs, ""))).Token;

    private static Task<LoginAnswer> SayTokenAsync(LoginPeer peer, string token) =>
        peer.SayAsync(Mechanisms.Token, Encoding.UTF8.GetBytes(token));

    private async Task<string> SaltAsync(string user)
    {
        using LoginPeer peer = await ConnectAsync();
        LoginAnswer answer = await peer.SayAsync(
            Mechanisms.ScramSha256, new ScramClient(user, Right).FirstMessage());
        string[] parts = Encoding.UTF8.GetString(answer.Hello!.Challenge.Span).Split(',');
        return parts[1];
    }
}
