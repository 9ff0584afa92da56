using System.Text;
using EQueue.Protocol;

namespace EQueue.Broker.Tests;

/// <summary>A user who is removed and made again: nothing that the first one was given serves, but for rules, which
/// name a text.</summary>
public sealed class UserAgainTests : IAsyncLifetime
{
    private const string Password = "the same";

    private TestBroker _broker = null!;
    private TestPeer _owner = null!;

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync();
        _owner = await _broker.ConnectAsync();
        await SetAsync("web");
    }

    public async ValueTask DisposeAsync()
    {
        await _owner.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task GivenASession_WhenItsUserIsRemovedAndMadeAgainAtOnce_ThenItIsCut(bool isByToken)
    {
        CreateTokenResponse token = await _owner.InvokeAsync(new CreateTokenRequest("bob", 0, ""));
        using LoginPeer peer = await ConnectAsync();
        LoginAnswer admitted = isByToken
            ? await SayTokenAsync(peer, token)
            : await peer.LogInAsync("bob", Password);
        Assert.Equal("user:bob", admitted.Hello?.Principal);

        await MakeAgainAsync();

        Assert.True(await peer.IsClosedAsync());
        using LoginPeer later = await ConnectAsync();
        Assert.Equal(ErrorCode.AuthenticationFailed, (await SayTokenAsync(later, token)).Error);
        Assert.Empty((await _owner.InvokeAsync(new ListTokensRequest(null, 10))).Tokens);
    }

    [Fact]
    public async Task GivenALoginThatBegan_WhenItsUserIsRemovedAndMadeAgain_ThenItFailsThoughThePasswordIsTheSame()
    {
        var client = new ScramClient("bob", Password);
        using LoginPeer peer = await ConnectAsync();
        LoginAnswer asked = await peer.SayAsync(Mechanisms.ScramSha256, client.FirstMessage());
        Assert.Equal(ScramError.None, client.Answer(asked.Hello!.Challenge.Span, out byte[] final));

        await MakeAgainAsync();

        Assert.Equal(ErrorCode.AuthenticationFailed, (await peer.SayAsync(Mechanisms.ScramSha256, final)).Error);
        using LoginPeer second = await ConnectAsync();
        Assert.Equal(ErrorCode.None, (await second.LogInAsync("bob", Password)).Error);
    }

    [Fact]
    public async Task GivenGroupsAndRules_WhenTheUserIsMadeAgain_ThenItIsInNoGroupAndRulesOfItsNameHold()
    {
        var rule = new AccessRule(RuleEffect.Allow, "user:bob", Permission.Read, ResourceKind.Topic, "own");
        await _owner.InvokeAsync(new SetRuleRequest(rule, false));
        await _owner.InvokeAsync(new SetRuleRequest(rule with { Principal = "group:web", Name = "shared" }, false));
        Assert.Equal((true, true), (await MayReadAsync("own"), await MayReadAsync("shared")));

        await MakeAgainAsync();

        Assert.Equal((true, false), (await MayReadAsync("own"), await MayReadAsync("shared")));
    }

    private async Task MakeAgainAsync()
    {
        await _owner.InvokeAsync(new DeleteUserRequest("bob"));
        await SetAsync();
    }

    private async Task SetAsync(params string[] groups) => await _owner.InvokeAsync(new SetUserRequest(
        "bob", ScramSecret.Create(Password, ScramSecret.MinIterations), null, groups, MustBeNew: true));

    private Task<LoginPeer> ConnectAsync() => LoginPeer.ConnectAsync(_broker.EndPoint);

    private async Task<bool> MayReadAsync(string topic) => (await _owner.InvokeAsync(
        new TestRuleRequest("user:bob", Permission.Read, ResourceKind.Topic, topic))).IsAllowed;

    private static Task<LoginAnswer> SayTokenAsync(LoginPeer peer, CreateTokenResponse token) =>
        peer.SayAsync(Mechanisms.Token, Encoding.UTF8.GetBytes(token.Token));
}
