using EQueue.Support;

namespace EQueue.Client.Tests;

/// <summary>Clients that log in at a real broker, and rules that come and go under them.</summary>
public sealed class LoginTests : IAsyncLifetime
{
    private const string Password = "correct horse";

    private TestBroker _broker = null!;

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    private EQueueAdmin Owner => _broker.Client.Admin;

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync(queues: 1);
        await Owner.SetUserAsync("alice", Password, groups: ["web"], cancellationToken: Token);
        await Owner.CreateTopicAsync("open", cancellationToken: Token);
        await Owner.CreateTopicAsync("secret", cancellationToken: Token);
    }

    public ValueTask DisposeAsync() => _broker.DisposeAsync();

    [Fact]
    public async Task GivenAUserWithAPasswordAndAToken_WhenLoggedIn_ThenTheBrokerTakesTheClientForThatUser()
    {
        CreatedToken token = await Owner.CreateTokenAsync("alice", TimeSpan.FromHours(1), "test", Token);
        foreach (Credentials? credentials
            in new[] { Credentials.Password("alice", Password), Credentials.Token(token.Token) })
        {
            await using EQueueClient client = NewClient(credentials);
            AccessDecision who =
                await client.Admin.TestAccessAsync("", Permission.Write, ResourceKind.Topic, "open", Token);
            Assert.Equal(("user:alice", true), (who.Principal, who.IsAllowed));
        }

        UserListing user = await Owner.ListUsersAsync(Token).SingleAsync(Token);
        Assert.Equal(("alice", true, false), (user.Name, user.HasPassword, user.IsDisabled));
        Assert.Equal(["web"], user.Groups);
        Assert.Equal(token.Id, (await Owner.ListTokensAsync(Token).SingleAsync(Token)).Id);
    }

    [Fact]
    public async Task GivenRulesForOneTopic_WhenAProducerSendsToAnother_ThenThatFailsAtOnceAndTheFirstGoesOn()
    {
        await Owner.AddRuleAsync(RuleOf(Permission.Write, ResourceKind.Topic, "open"), Token);
        await using EQueueClient client = NewClient(Credentials.Password("alice", Password));
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("open", BitConverter.GetBytes(1), cancellationToken: Token);
        foreach (string topic in new[] { "secret", "new" })
        {
            EQueueException refused = await Assert.ThrowsAsync<EQueueException>(
                () => producer.SendAsync(topic, BitConverter.GetBytes(2), cancellationToken: Token).AsTask());
            Assert.Equal(ErrorCode.NotAuthorized, refused.Code);
            Assert.Contains(topic, refused.Message, StringComparison.Ordinal);
        }

        await producer.SendAsync("open", BitConverter.GetBytes(3), cancellationToken: Token);

        // The rule goes while the producer has its routes.
        await Owner.AddRuleAsync(
            RuleOf(Permission.Write, ResourceKind.Topic, "open") with { Effect = RuleEffect.Deny }, Token);
        EQueueException over = await Assert.ThrowsAsync<EQueueException>(
            () => producer.SendAsync("open", BitConverter.GetBytes(4), cancellationToken: Token).AsTask());
        Assert.Equal(ErrorCode.NotAuthorized, over.Code);
        TopicDescription description = await Owner.DescribeTopicAsync("open", Token);
        Assert.Equal(2, description.Queues.Sum(static queue => queue.End.Value - queue.Start.Value));
    }

    [Fact]
    public async Task GivenAConsumerThatWaits_WhenItsRuleGoes_ThenItsLoopEndsWithNotAuthorizedAndTheQueue()
    {
        await Owner.AddRuleAsync(RuleOf(Permission.Read, ResourceKind.Topic, "open"), Token);
        await Owner.AddRuleAsync(RuleOf(Permission.Read, ResourceKind.Group, "g"), Token);
        await using EQueueClient client = NewClient(Credentials.Password("alice", Password));
        await using Consumer consumer = client.CreateConsumer("g", ["open"]);
        await using IAsyncEnumerator<ReceivedMessage> messages = consumer.ReadAllAsync(Token).GetAsyncEnumerator(Token);
        await using Producer producer = _broker.Client.CreateProducer();
        await producer.SendAsync("open", BitConverter.GetBytes(1), cancellationToken: Token);
        Assert.True(await messages.MoveNextAsync());

        Task<bool> next = messages.MoveNextAsync().AsTask();
        await Owner.RemoveRuleAsync(RuleOf(Permission.Read, ResourceKind.Topic, "open"), Token);
        EQueueException ended =
            await Assert.ThrowsAsync<EQueueException>(() => next.WaitAsync(TimeSpan.FromMinutes(1), Token));
        Assert.Equal(ErrorCode.NotAuthorized, ended.Code);
        Assert.Contains("open/0", ended.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenATokenThatIsRevoked_WhenItsFileIsRenewed_ThenTheClientThatWasPutOutServesOn()
    {
        using var directory = new TempDirectory();
        CreatedToken old = await Owner.CreateTokenAsync("alice", note: "old", cancellationToken: Token);
        await File.WriteAllTextAsync(directory["token"], old.Token, Token);
        await using EQueueClient client = NewClient(Credentials.TokenFile(directory["token"]));
        await client.Admin.ReadFiguresAsync(Token);
        await Owner.RevokeTokenAsync(old.Token, Token);
        EQueueException? refused = null;
        await Eventually.TrueAsync(async () =>
        {
            try
            {
                await client.Admin.ReadFiguresAsync(Token);
            }
            catch (EQueueException exception)
            {
                refused = exception.Code == ErrorCode.AuthenticationFailed ? exception : null;
            }

            return refused is not null;
        });
        Assert.False(refused!.IsRetriable);

        CreatedToken renewed = await Owner.CreateTokenAsync("alice", note: "new", cancellationToken: Token);
        await File.WriteAllTextAsync(directory["token"], renewed.Token, Token);
        Assert.NotNull(await client.Admin.ReadFiguresAsync(Token));
    }

    private static AccessRule RuleOf(Permission permission, ResourceKind resource, string name) =>
        new(RuleEffect.Allow, "group:web", permission, resource, name);

    private EQueueClient NewClient(Credentials credentials) =>
        new(new ClientOptions
        {
            Addresses = _broker.Address,
            Credentials = credentials,
            RequestTimeout = TimeSpan.FromMinutes(1),
        });
}
