using EQueue.Protocol;

namespace EQueue.Broker.Tests;

/// <summary>Names that look like prefixes, beside rules that are about prefixes.</summary>
public sealed class RuleNameTests : IAsyncLifetime
{
    private const string Worker = "user:worker";

    private static readonly string[] Topics = ["order", "orders", "orders.", "orders..", "orders.eu", "orders-", "Orders"];

    private TestBroker _broker = null!;
    private TestPeer _owner = null!;
    private TestPeer _worker = null!;

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync();
        _owner = await _broker.ConnectAsync();
        foreach (string topic in Topics)
            await _owner.CreateTopicAsync(topic);
        await _owner.InvokeAsync(new SetUserRequest("worker", null, null, null, true));
        _worker = await TestPeer.LogInAsync(
            _broker.EndPoint, (await _owner.InvokeAsync(new CreateTokenRequest("worker", 0, ""))).Token);
    }

    public async ValueTask DisposeAsync()
    {
        await _worker.DisposeAsync();
        await _owner.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Theory]
    [InlineData("orders", "orders")]
    [InlineData("orders.", "orders.")]
    [InlineData("orders*", "orders orders. orders.. orders.eu orders-")]
    [InlineData("orders.*", "orders. orders.. orders.eu")]
    [InlineData("orders..*", "orders..")]
    [InlineData("orders.eu*", "orders.eu")]
    [InlineData("orders.eux*", "")]
    [InlineData("o*", "order orders orders. orders.. orders.eu orders-")]
    [InlineData("*", "order orders orders. orders.. orders.eu orders- Orders")]
    public async Task GivenARule_WhenTopicsOfLikeNamesAreAsked_ThenItIsAboutThoseThatItNamesAndNoOthers(
        string name, string expected)
    {
        var rule = new AccessRule(RuleEffect.Allow, Worker, Permission.Describe, ResourceKind.Topic, name);
        await _owner.InvokeAsync(new SetRuleRequest(rule, false));
        string[] seen = [.. (await _worker.InvokeAsync(new ListTopicsRequest(null, 100))).Topics.Select(x => x.Topic)];
        string[] wanted = expected.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(wanted.Order(StringComparer.Ordinal), seen.Order(StringComparer.Ordinal));

        // The same about a deny rule, behind a rule for all.
        await _owner.InvokeAsync(new SetRuleRequest(rule with { Name = "*" }, false));
        await _owner.InvokeAsync(new SetRuleRequest(rule with { Effect = RuleEffect.Deny }, false));
        seen = [.. (await _worker.InvokeAsync(new ListTopicsRequest(null, 100))).Topics.Select(x => x.Topic)];
        Assert.Equal(Topics.Except(wanted).Order(StringComparer.Ordinal), seen.Order(StringComparer.Ordinal));
    }

    [Theory]
    [InlineData("orders*")]
    [InlineData("*")]
    [InlineData("orders**")]
    [InlineData("ord*ers")]
    public async Task GivenANameWithAStar_WhenATopicAGroupOrAUserIsToHaveIt_ThenItIsRefused(string name)
    {
        Assert.Equal(ErrorCode.InvalidName, (await _owner.RefusalAsync(
            new CreateTopicRequest(name, new TopicSettings { QueueCount = 1 }))).Code);
        Assert.Equal(ErrorCode.InvalidName, (await _owner.RefusalAsync(
            new CommitOffsetsRequest(name, Guid.Empty, []))).Code);
        Assert.Equal(ErrorCode.InvalidName, (await _owner.RefusalAsync(
            new SetUserRequest(name, null, null, null, true))).Code);
        Assert.Equal(ErrorCode.InvalidArgument, (await _owner.RefusalAsync(
            new TestRuleRequest(Worker, Permission.Read, ResourceKind.Topic, name))).Code);

        // A user that may do everything below the prefix makes no topic of that name either.
        await _owner.InvokeAsync(new SetRuleRequest(
            new AccessRule(RuleEffect.Allow, Worker, Permission.All, ResourceKind.Topic, "*"), false));
        Assert.Equal(ErrorCode.InvalidName, (await _worker.RefusalAsync(
            new CreateTopicRequest(name, new TopicSettings { QueueCount = 1 }))).Code);
    }

    [Theory]
    [InlineData("user:work*")]
    [InlineData("user:*")]
    [InlineData("cert:*.example")]
    [InlineData("cert:*")]
    [InlineData("group:*")]
    [InlineData("local:*")]
    [InlineData("**")]
    [InlineData("w*")]
    public async Task GivenAPrincipalThatLooksLikeAPrefix_WhenARuleNamesIt_ThenItIsRefused(string principal) =>
        Assert.Equal(ErrorCode.InvalidArgument, (await _owner.RefusalAsync(new SetRuleRequest(
            new AccessRule(RuleEffect.Allow, principal, Permission.Read, ResourceKind.Topic, "orders"), false))).Code);

    [Theory]
    [InlineData("ord*ers")]
    [InlineData("orders**")]
    [InlineData("*orders")]
    [InlineData("")]
    public async Task GivenAResourceThatIsNoNameAndNoPrefix_WhenARuleNamesIt_ThenItIsRefused(string name) =>
        Assert.Equal(ErrorCode.InvalidArgument, (await _owner.RefusalAsync(new SetRuleRequest(
            new AccessRule(RuleEffect.Allow, Worker, Permission.Read, ResourceKind.Topic, name), false))).Code);
}
