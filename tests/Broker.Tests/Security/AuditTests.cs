using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>What is written down about who did what.</summary>
public sealed class AuditTests : IAsyncLifetime
{
    private const int Peers = 4;
    private const int OperationsEach = 2_500;

    private readonly AuditLines _audit = new();
    private TestBroker _broker = null!;
    private TestPeer _owner = null!;

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync(
            TestBroker.SmallOptions() with { Security = new SecurityOptions { Audit = _audit } });
        _owner = await _broker.ConnectAsync("owner");
    }

    public async ValueTask DisposeAsync()
    {
        await _owner.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenAStormOfAdministration_WhenItIsOver_ThenEachOperationHasItsLineInOrder()
    {
        List<(string Operation, string Resource, ErrorCode Outcome)>[] asked =
            await Task.WhenAll(Enumerable.Range(0, Peers).Select(StormAsync));
        AuditRecord[] lines = _audit.Lines;
        Assert.Equal(Peers * OperationsEach, lines.Length);
        for (int peer = 0; peer < Peers; peer++)
        {
            Assert.Equal(
                asked[peer],
                lines.Where(line => line.Client == $"storm-{peer}")
                    .Select(line => (line.Operation, line.Resource, line.Outcome)));
        }

        // The storm did not do one thing alone, and not all of it was done.
        Assert.True(lines.Select(line => line.Operation).Distinct().Count() >= 9);
        Assert.Contains(lines, line => line.Outcome != ErrorCode.None);
        Assert.All(lines, line => Assert.Equal("owner", line.Principal));
    }

    [Fact]
    public async Task GivenAChange_WhenItIsDone_ThenBeforeAndAfterAreTold()
    {
        await _owner.CreateTopicAsync("orders");
        await _owner.InvokeAsync(new AlterTopicRequest("orders", new TopicSettings { RetentionCount = 77 }));
        await _owner.InvokeAsync(new SetQuotaRequest(new Quota(QuotaKind.Topic, "orders", 11, 0, 0)));
        await _owner.InvokeAsync(new SetQuotaRequest(new Quota(QuotaKind.Topic, "orders", 22, 0, 0)));
        await _owner.InvokeAsync(new DeleteTopicRequest("orders"));
        AuditRecord[] lines = _audit.Lines;
        string altered = lines.Single(line => line.Operation == nameof(Opcode.AlterTopic)).Detail;
        string[] halves = altered.Split("; after: ");
        Assert.DoesNotContain("77", halves[0], StringComparison.Ordinal);
        Assert.Contains("77", halves[1], StringComparison.Ordinal);
        string quota = lines.Last(line => line.Operation == nameof(Opcode.SetQuota)).Detail;
        Assert.Matches("^before: .*11.*; after: .*22", quota);
        string deleted = lines.Single(line => line.Operation == nameof(Opcode.DeleteTopic)).Detail;
        Assert.Matches("^before: .*77.*; after: -$", deleted);
    }

    [Fact]
    public async Task GivenATopicThatAProducerMakes_WhenWrittenDown_ThenThereIsOneLineOfIt()
    {
        int before = _audit.Lines.Length;
        await Task.WhenAll(Enumerable.Range(0, 8).Select(
            _ => _owner.InvokeAsync(new RouteRequest(["made"], AutoCreate: true))));
        AuditRecord line = Assert.Single(_audit.Lines[before..]);
        Assert.Equal(("Route", "topic:made", ErrorCode.None), (line.Operation, line.Resource, line.Outcome));
        Assert.StartsWith("before: -; after: ", line.Detail, StringComparison.Ordinal);
    }

    [Fact]
    public async Task GivenAUserAndARuleThatChange_WhenWrittenDown_ThenTheLinesSayWhatWasAndWhatIs()
    {
        var secret = ScramSecret.Create("first", 4_096);
        var rule = new AccessRule(RuleEffect.Deny, "user:alice", Permission.Delete, ResourceKind.Topic, "*");
        int before = _audit.Lines.Length;
        await _owner.InvokeAsync(new SetUserRequest("alice", null, null, ["staff"], true));
        await _owner.InvokeAsync(new SetUserRequest("alice", secret, null, null, false));
        await _owner.InvokeAsync(new SetUserRequest(
            "alice", ScramSecret.Create("second", 4_096), null, null, false));
        await _owner.InvokeAsync(new SetUserRequest("alice", null, true, [], false));
        await _owner.InvokeAsync(new SetRuleRequest(rule, false));
        await _owner.InvokeAsync(new SetRuleRequest(rule, true));
        await _owner.InvokeAsync(new DeleteUserRequest("alice"));

        string[] details = [.. _audit.Lines[before..].Select(static line => line.Detail)];
        Assert.Equal(
        [
            "before: -; after: user alice, disabled: False, password: False, groups: staff",
            "asked: a new password; before: user alice, disabled: False, password: False, groups: staff; "
                + "after: user alice, disabled: False, password: True, groups: staff",
            "asked: a new password; before: user alice, disabled: False, password: True, groups: staff; "
                + "after: user alice, disabled: False, password: True, groups: staff",
            "before: user alice, disabled: False, password: True, groups: staff; "
                + "after: user alice, disabled: True, password: True, groups: ",
            $"before: -; after: {rule}",
            $"before: {rule}; after: -",
            "before: user alice, disabled: True, password: True, groups: ; after: -",
        ],
        details);
    }

    [Fact]
    public async Task GivenATokenIsMadeAndRevoked_WhenWrittenDown_ThenTheLinesSayWhoseAndWhichItIs()
    {
        await _owner.InvokeAsync(new SetUserRequest("alice", null, null, null, true));
        CreateTokenResponse token = await _owner.InvokeAsync(new CreateTokenRequest("alice", 0, "of the shop"));
        await _owner.InvokeAsync(new RevokeTokenRequest(token.Id));
        await _owner.InvokeAsync(new RevokeTokenRequest(token.Token));
        await _owner.RefusalAsync(new CreateTokenRequest("bob", 0, ""));
        AuditRecord[] lines = _audit.Lines[1..];
        Assert.Equal(
            ["user:alice", $"token:{token.Id}", $"token:{token.Token[..8]}", "user:bob"],
            lines.Select(static line => line.Resource));
        Assert.Matches($"; before: -; after: token {token.Id} of user alice, .*of the shop$", lines[0].Detail);
        Assert.Matches($"^before: token {token.Id} of user alice.*; after: -$", lines[1].Detail);
        Assert.Equal(ErrorCode.InvalidArgument, lines[3].Outcome);
    }

    [Fact]
    public async Task GivenARequestOfSeveralThings_WhenSomeAreRefused_ThenThoseAreCountedAndWrittenDownAndNoOthers()
    {
        TopicDescription orders = await _owner.CreateTopicAsync("orders");
        TopicDescription open = await _owner.CreateTopicAsync("open");
        await _owner.InvokeAsync(new SetUserRequest("alice", null, null, null, true));
        string token = (await _owner.InvokeAsync(new CreateTokenRequest("alice", 0, ""))).Token;
        await _owner.InvokeAsync(new SetRuleRequest(
            new AccessRule(RuleEffect.Allow, "user:alice", Permission.All, ResourceKind.Topic, "open"), false));
        await using TestPeer alice = await TestPeer.LogInAsync(_broker.EndPoint, token);
        int before = _audit.Lines.Length;

        (QueueId refused, QueueId allowed) = (orders.Queues[0].Id, open.Queues[0].Id);
        using ResponseFrame produced = await alice.SendAsync(Opcode.Produce, Messages.Produce(
            Durability.Policy,
            (refused, Messages.Batch("one")),
            (allowed, Messages.Batch("two")),
            (refused, Messages.Batch("three"))));
        Assert.Equal(
            [ErrorCode.NotAuthorized, ErrorCode.None, ErrorCode.NotAuthorized],
            Messages.ReadProduced(produced).Select(static one => one.Error));
        using ResponseFrame fetched = await alice.SendAsync(Opcode.Fetch, TestPeer.Encode(
            Messages.Open(0, Messages.From(allowed, 0), Messages.From(refused, 0))));
        Assert.Equal(2, Messages.ReadFetched(fetched).Queues.Count);
        await alice.InvokeAsync(new RouteRequest(["orders", "open"], false));
        QueueKey[] both = [new(0, refused), new(0, allowed)];
        await alice.InvokeAsync(new FindOffsetsRequest([.. both.Select(static queue => new OffsetQuestion(queue, -1))]));

        AuditRecord[] lines = _audit.Lines[before..];
        Assert.Equal(
            ["Produce", "Produce", "Fetch", "Route", "FindOffsets"], lines.Select(static line => line.Operation));
        Assert.All(lines, static line => Assert.Equal(
            ("user:alice", "topic:orders", ErrorCode.NotAuthorized), (line.Principal, line.Resource, line.Outcome)));
        Assert.Equal(5, await _owner.FigureAsync("broker.unauthorizedRequests"));
    }

    [Fact]
    public async Task GivenAFloodOfRefusedBatches_WhenALoginIsRefused_ThenItIsWrittenDownAllTheSame()
    {
        TopicDescription orders = await _owner.CreateTopicAsync("orders");
        await _owner.InvokeAsync(new SetUserRequest("mallory", null, null, null, true));
        string token = (await _owner.InvokeAsync(new CreateTokenRequest("mallory", 0, ""))).Token;
        await _owner.InvokeAsync(new SetRuleRequest(
            new AccessRule(RuleEffect.Allow, "user:else", Permission.Read, ResourceKind.Topic, "x"), false));
        await using TestPeer mallory = await TestPeer.LogInAsync(_broker.EndPoint, token);
        (QueueId, byte[])[] batches = [.. Enumerable.Repeat(
            (orders.Queues[0].Id, Messages.Batch("no")), 3 * AuditLog.RefusalsPerMinute)];
        using ResponseFrame produced = await mallory.SendAsync(
            Opcode.Produce, Messages.Produce(Durability.Policy, batches));
        using LoginPeer stranger = await LoginPeer.ConnectAsync(_broker.EndPoint);
        LoginAnswer answer = await stranger.SayAsync(Mechanisms.Token, "eqt_none"u8.ToArray());
        Assert.Equal(ErrorCode.AuthenticationFailed, answer.Error);
        Assert.InRange(
            _audit.Lines.Count(static line => line.Operation == "Produce"), 1, 2 * AuditLog.RefusalsPerMinute);
        Assert.Contains(_audit.Lines, static line => line.Operation == "Login");
        Assert.Equal(batches.Length, await _owner.FigureAsync("broker.unauthorizedRequests"));
    }

    [Fact]
    public async Task GivenPeersThatGoAndADiskThatBreaks_WhenTheirOperationsEnd_ThenEachIsWrittenDown()
    {
        var disk = new FaultyDisk();
        var audit = new AuditLines();
        BrokerOptions options = TestBroker.SmallOptions();
        await using TestBroker broker = await TestBroker.StartAsync(options with
        {
            Store = options.Store with { Disk = disk, ReserveBytes = 1 << 20 },
            Security = new SecurityOptions { Audit = audit },
        });
        await using TestPeer owner = await broker.ConnectAsync("owner");
        await using TestPeer watcher = await broker.ConnectAsync("watcher");
        TestPeer leaving = await broker.ConnectAsync("leaving");
        Task<Done> first;
        try
        {
            disk.HoldWrites();
            long staged = await watcher.FigureAsync("store.stagedPosition");
            first = owner.InvokeAsync(new SetUserRequest("first", null, null, null, true));
            await Eventually.TrueAsync(async () => await watcher.FigureAsync("store.stagedPosition") > staged);
            long before = await watcher.FigureAsync("broker.requests");
            Task left = leaving.InvokeAsync(new SetUserRequest("second", null, null, null, true));
            int looks = 0;
            await Eventually.TrueAsync(async () => await watcher.FigureAsync("broker.requests") > before + ++looks);
            await leaving.DisposeAsync();
            await Assert.ThrowsAnyAsync<Exception>(() => left);
            await Eventually.TrueAsync(() => audit.Lines.Any(static line => line.Client == "leaving"));
        }
        finally
        {
            disk.ReleaseWrites();
        }

        await first;
        disk.Break();
        await owner.RefusalAsync(new DeleteUserRequest("first"));
        Assert.Equal(
            [
                ("leaving", "SetUser", "user:second", ErrorCode.ConnectionLost),
                ("owner", "SetUser", "user:first", ErrorCode.None),
                ("owner", "DeleteUser", "user:first", ErrorCode.StoreFaulted),
            ],
            audit.Lines.Select(static line => (line.Client, line.Operation, line.Resource, line.Outcome)));
    }

    [Fact]
    public async Task GivenASinkThatLosesLines_WhenStatsAreAskedFor_ThenTheyTellHowMany()
    {
        Assert.Equal(0, await _owner.FigureAsync("audit.lost"));
        _audit.Lost = 7;
        Assert.Equal(7, await _owner.FigureAsync("audit.lost"));
    }

    [Fact]
    public async Task GivenAPasswordAndAToken_WhenSet_ThenNoLineHasTheSecret()
    {
        var secret = ScramSecret.Create("the password", ScramSecret.MinIterations);
        await _owner.InvokeAsync(new SetUserRequest("alice", secret, null, null, true));
        CreateTokenResponse token = await _owner.InvokeAsync(new CreateTokenRequest("alice", 0, "note"));
        string all = string.Join('\n', _audit.Lines.Select(line => line.ToString()));
        Assert.Contains("alice", all, StringComparison.Ordinal);
        foreach (string hidden in (string[])
            [
                "the password", token.Token, token.Token[13..], Convert.ToHexString(secret.StoredKey.Span),
                Convert.ToBase64String(secret.StoredKey.Span),
            ])
        {
            Assert.DoesNotContain(hidden, all, StringComparison.OrdinalIgnoreCase);
        }
    }

    [Fact]
    public async Task GivenAFloodOfRefusals_WhenWrittenDown_ThenTheirNumberIsBoundedAndCounted()
    {
        await _owner.InvokeAsync(new SetUserRequest("mallory", null, null, null, true));
        string token = (await _owner.InvokeAsync(new CreateTokenRequest("mallory", 0, ""))).Token;
        await _owner.InvokeAsync(new SetRuleRequest(
            new AccessRule(RuleEffect.Allow, "user:else", Permission.Read, ResourceKind.Topic, "x"), false));
        await using TestPeer mallory = await TestPeer.LogInAsync(_broker.EndPoint, token);
        for (int i = 0; i < 3 * AuditLog.RefusalsPerMinute; i++)
            await mallory.RefusalAsync(new DeleteTopicRequest("orders"));
        AuditRecord[] refusals = [.. _audit.Lines.Where(line => line.Outcome == ErrorCode.NotAuthorized)];
        Assert.InRange(refusals.Length, 1, 2 * AuditLog.RefusalsPerMinute);
        Assert.All(refusals, line => Assert.Equal("user:mallory", line.Principal));
        Assert.Equal(
            3 * AuditLog.RefusalsPerMinute, await _owner.FigureAsync("broker.unauthorizedRequests"));
    }

    private async Task<List<(string Operation, string Resource, ErrorCode Outcome)>> StormAsync(int number)
    {
        await using TestPeer peer = await _broker.ConnectAsync($"storm-{number}");
        var random = new Random(number);
        var asked = new List<(string Operation, string Resource, ErrorCode Outcome)>();
        for (int i = 0; i < OperationsEach; i++)
        {
            string name = $"t{random.Next(8)}";
            switch (random.Next(10))
            {
                case 0:
                    await AskAsync(new CreateTopicRequest(name, new TopicSettings { QueueCount = 1 }), $"topic:{name}");
                    break;
                case 1:
                    await AskAsync(
                        new AlterTopicRequest(name, new TopicSettings { RetentionCount = i }), $"topic:{name}");
                    break;
                case 2:
                    await AskAsync(new DeleteTopicRequest(name), $"topic:{name}");
                    break;
                case 3:
                    await AskAsync(new SetQuotaRequest(new Quota(QuotaKind.Topic, name, i, 0, 0)), $"quota:topic:{name}");
                    break;
                case 4:
                    await AskAsync(new SetUserRequest(name, null, i % 2 == 0, null, false), $"user:{name}");
                    break;
                case 5:
                    await AskAsync(new DeleteUserRequest(name), $"user:{name}");
                    break;
                case 6:
                    await AskAsync(new CreateTokenRequest(name, 0, "storm"), $"user:{name}");
                    break;
                case 7:
                    var rule = new AccessRule(
                        RuleEffect.Deny, $"user:{name}", Permission.Read, ResourceKind.Topic, name);
                    await AskAsync(new SetRuleRequest(rule, i % 2 == 0), $"rule:deny user:{name} read topic:{name}");
                    break;
                case 8:
                    await AskAsync(new DeleteGroupRequest(name, null), $"group:{name}");
                    break;
                case 9:
                    await AskAsync(new ResetOffsetsRequest { Group = name, Topic = name }, $"group:{name}");
                    break;
            }
        }

        return asked;

        async Task AskAsync<TRequest, TResponse>(IRequest<TRequest, TResponse> request, string resource)
            where TRequest : IRequest<TRequest, TResponse>
            where TResponse : IPayload<TResponse>
        {
            ErrorCode outcome = await peer.RefusalAsync(TRequest.Opcode, TestPeer.Encode((TRequest)request));
            asked.Add((TRequest.Opcode.ToString(), resource, outcome));
        }
    }
}
