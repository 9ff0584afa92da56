using System.Text;
using EQueue.Protocol;

namespace EQueue.Client.Tests;

/// <summary>Users, tokens and rules as they are administered, at one broker and at several.</summary>
public sealed class SecurityAdminTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAPassword_WhenAUserIsSet_ThenASecretTravelsAndThePasswordDoesNot()
    {
        await using FakeBroker broker = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(broker.Address);
        await client.Admin.SetUserAsync("alice", "correct horse", groups: ["ops", "web"], cancellationToken: Token);
        byte[] body = Assert.Single(broker.Administered);
        Assert.Equal(-1, body.AsSpan().IndexOf("correct horse"u8));
        Assert.True(Payload.TryRead<SetUserRequest>(body, out SetUserRequest? request));
        Assert.True(request.Secret!.IsValid);
        Assert.Equal(ScramSecret.DefaultIterations, request.Secret.Iterations);
        Assert.Equal(
            request.Secret, ScramSecret.Derive("correct horse", request.Secret.Salt.Span, request.Secret.Iterations));
        Assert.Equal((null, false), (request.IsDisabled, request.MustBeNew));
        Assert.Equal(["ops", "web"], request.Groups!);

        await client.Admin.SetUserAsync("alice", isDisabled: true, cancellationToken: Token);
        Assert.True(Payload.TryRead<SetUserRequest>(broker.Administered.Last(), out SetUserRequest? change));
        Assert.Equal((null, true, null), (change.Secret, change.IsDisabled, change.Groups));
        EQueueException taken = await Assert.ThrowsAsync<EQueueException>(
            () => client.Admin.SetUserAsync("alice", mustBeNew: true, cancellationToken: Token).AsTask());
        Assert.Equal(ErrorCode.InvalidArgument, taken.Code);
        await Assert.ThrowsAnyAsync<ArgumentException>(
            () => client.Admin.SetUserAsync("alice", "bell\u0007", cancellationToken: Token).AsTask());
        Assert.Equal(3, broker.Administered.Count);
    }

    [Fact]
    public async Task GivenAUserThatMustExist_WhenItDoesNot_ThenTheBrokerIsToldSoAndRefuses()
    {
        await using FakeBroker broker = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(broker.Address);
        await client.Admin.SetUserAsync("alice", cancellationToken: Token);
        await client.Admin.SetUserAsync("alice", isDisabled: true, mustExist: true, cancellationToken: Token);
        await Assert.ThrowsAsync<ArgumentException>(() => client.Admin.SetUserAsync(
            "alice", mustBeNew: true, mustExist: true, cancellationToken: Token).AsTask());
        Assert.Equal(2, broker.Administered.Count);
        EQueueException unknown = await Assert.ThrowsAsync<EQueueException>(
            () => client.Admin.SetUserAsync("bob", mustExist: true, cancellationToken: Token).AsTask());
        Assert.Equal(ErrorCode.InvalidArgument, unknown.Code);
        Assert.Equal(["alice"], broker.UserListings.Keys);
    }

    [Fact]
    public async Task GivenMoreThanAPage_WhenUsersTokensAndRulesAreListed_ThenAllComeInOrder()
    {
        await using FakeBroker broker = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(broker.Address);
        string[] names = ["a", "b", "c", "d", "e"];
        foreach (string name in names.Reverse())
        {
            await client.Admin.SetUserAsync(name, cancellationToken: Token);
            await client.Admin.AddRuleAsync(RuleOf(name), Token);
            await client.Admin.CreateTokenAsync(name, cancellationToken: Token);
        }

        Assert.Equal(names, await client.Admin.ListUsersAsync(Token).Select(static one => one.Name).ToListAsync(Token));
        Assert.Equal(names.Select(RuleOf), await client.Admin.ListRulesAsync(Token).ToListAsync(Token));
        List<TokenListing> tokens = await client.Admin.ListTokensAsync(Token).ToListAsync(Token);
        Assert.Equal(names.Reverse(), tokens.Select(static one => one.User));

        await client.Admin.DeleteUserAsync("c", Token);
        await client.Admin.RemoveRuleAsync(RuleOf("c"), Token);
        await client.Admin.RevokeTokenAsync(tokens[0].Id, Token);
        Assert.Equal(
            ["a", "b", "d", "e"],
            await client.Admin.ListUsersAsync(Token).Select(static one => one.Name).ToListAsync(Token));
        Assert.DoesNotContain(RuleOf("c"), await client.Admin.ListRulesAsync(Token).ToListAsync(Token));
        Assert.Equal(4, await client.Admin.ListTokensAsync(Token).CountAsync(Token));
    }

    [Fact]
    public async Task GivenATokenThatWasMade_WhenItIsUsedAndRevokedByTheWholeOfIt_ThenOnlyItsIdTravels()
    {
        await using FakeBroker broker = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(broker.Address);
        DateTimeOffset before = DateTimeOffset.UtcNow;
        CreatedToken made =
            await client.Admin.CreateTokenAsync("alice", TimeSpan.FromDays(30), "for the build", Token);
        Assert.DoesNotContain(made.Token, made.ToString(), StringComparison.Ordinal);
        TokenListing listed = await client.Admin.ListTokensAsync(Token).SingleAsync(Token);
        Assert.Equal(("alice", "for the build", made.Id), (listed.User, listed.Note, listed.Id));
        var expires = DateTimeOffset.FromUnixTimeMilliseconds(listed.ExpiresMs);
        Assert.InRange(expires, before.AddDays(30).AddSeconds(-1), DateTimeOffset.UtcNow.AddDays(30));

        await using var other = new EQueueClient(
            new ClientOptions { Addresses = broker.Address, Credentials = Credentials.Token(made.Token) });
        await other.Admin.DescribeBrokerAsync(Token);
        await client.Admin.RevokeTokenAsync(made.Token, Token);
        Assert.Equal(-1, broker.Administered.Last().AsSpan().IndexOf(Encoding.ASCII.GetBytes(made.Token)));
        Assert.Empty(await client.Admin.ListTokensAsync(Token).ToListAsync(Token));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => client.Admin.CreateTokenAsync("alice", TimeSpan.Zero, cancellationToken: Token).AsTask());
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => client.Admin.CreateTokenAsync("alice", TimeSpan.MaxValue, cancellationToken: Token).AsTask());
    }

    [Fact]
    public async Task GivenAccessInQuestion_WhenTested_ThenTheAnswerSaysWhoMayAndWhy()
    {
        await using FakeBroker broker = await FakeBroker.StartAsync();
        await using var client = new EQueueClient(broker.Address);
        AccessDecision may = await client.Admin.TestAccessAsync(
            "user:a", Permission.Read, ResourceKind.Topic, "orders", Token);
        Assert.Equal(new AccessDecision("user:a", true, "Topic:orders"), may);
        Assert.False((await client.Admin.TestAccessAsync(
            "user:a", Permission.Write, ResourceKind.Broker, cancellationToken: Token)).IsAllowed);
    }

    [Fact]
    public async Task GivenSeveralBrokers_WhenUsersAndRulesAreSet_ThenEachHasThemAndListsAreOne()
    {
        await using FakeBroker first = await FakeBroker.StartAsync();
        await using FakeBroker second = await FakeBroker.StartAsync();
        await using var client = new EQueueClient($"{first.Address},{second.Address}");
        await client.Admin.SetUserAsync("alice", "correct horse", cancellationToken: Token);
        await client.Admin.AddRuleAsync(RuleOf("alice"), Token);
        Assert.Equal(first.Users["alice"], second.Users["alice"]);
        Assert.Equal(first.Rules.Values, second.Rules.Values);
        second.UserListings["bob"] = new UserListing("bob", false, false, []);
        Assert.Equal(
            ["alice", "bob"],
            await client.Admin.ListUsersAsync(Token).Select(static one => one.Name).ToListAsync(Token));
        Assert.Equal([RuleOf("alice")], await client.Admin.ListRulesAsync(Token).ToListAsync(Token));

        EQueueException refused = await Assert.ThrowsAsync<EQueueException>(
            () => client.Admin.CreateTokenAsync("alice", cancellationToken: Token).AsTask());
        Assert.Equal(ErrorCode.InvalidArgument, refused.Code);
        Assert.Contains("one broker", refused.Message, StringComparison.Ordinal);
        await client.Admin.DeleteUserAsync("alice", Token);
        Assert.False(first.UserListings.ContainsKey("alice") || second.UserListings.ContainsKey("alice"));
    }

    private static AccessRule RuleOf(string user) =>
        new(RuleEffect.Allow, $"user:{user}", Permission.Read, ResourceKind.Topic, "t*");
}
