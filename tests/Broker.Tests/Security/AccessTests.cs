using EQueue.Protocol;
using EQueue.Remoting;
using EQueue.Support;

namespace EQueue.Broker.Tests;

/// <summary>Every operation beside every right: without the right nothing is done, with it alone it is.</summary>
public sealed class AccessTests : IAsyncLifetime
{
    private readonly AuditLines _audit = new();
    private TestBroker _broker = null!;
    private TestPeer _owner = null!;
    private TestPeer _worker = null!;
    private TopicDescription _orders = null!;

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync(
            TestBroker.SmallOptions() with { Security = new SecurityOptions { Audit = _audit } });
        _owner = await _broker.ConnectAsync();
        _orders = await _owner.CreateTopicAsync("orders");
        await _owner.CreateTopicAsync("old");
        await CommitAsync("billing");
        await CommitAsync("leftover");
        await _owner.InvokeAsync(new SetUserRequest(AccessCases.User, null, null, ["staff"], true));
        CreateTokenResponse token = await _owner.InvokeAsync(new CreateTokenRequest(AccessCases.User, 0, "test"));
        _worker = await TestPeer.LogInAsync(_broker.EndPoint, token.Token);
    }

    public async ValueTask DisposeAsync()
    {
        await _worker.DisposeAsync();
        await _owner.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public void GivenEveryOpcode_WhenLookedUp_ThenTheTableHasARowAndTheTestsACase()
    {
        HashSet<Opcode> cases = [.. AccessCases.Of(_orders).Select(one => one.Opcode)];
        foreach (Opcode opcode in Enum.GetValues<Opcode>())
        {
            OperationRow? row = _broker.Broker.Operations.Find(opcode);
            Assert.True(row?.Opcode == opcode, $"{opcode} has no row in the OperationTable.");
            Assert.True(cases.Contains(opcode), $"{opcode} has no AccessCase.");

            // A node of a cluster serves it, not the broker.
            Assert.True((row.Handler is null) == (opcode == Opcode.WatchLeader), $"{opcode} has no handler.");
        }
    }

    [Fact]
    public void GivenEveryOperation_WhenItsRowIsRead_ThenItsRightIsThatOfItsCase()
    {
        foreach (AccessCase one in AccessCases.Of(_orders).Where(one => one.Need is not null))
        {
            OperationRow row = _broker.Broker.Operations.Find(one.Opcode)!;

            // A route makes the topic where it may, and whoever asks about its own rights needs none.
            if (one.Opcode == Opcode.Route && one.Need!.Permission == Permission.Create)
                continue;
            Assert.Equal((one.Need!.Permission, one.Need.Resource), (row.Permission, row.Resource));
        }
    }

    [Theory]
    [InlineData(Opcode.Hello, QuotaClass.None)]
    [InlineData(Opcode.Produce, QuotaClass.Produce)]
    [InlineData(Opcode.Fetch, QuotaClass.Fetch)]
    [InlineData(Opcode.CommitOffsets, QuotaClass.Request)]
    public void GivenAnOperation_WhenItsRowIsRead_ThenItSaysHowItCountsForQuotas(Opcode opcode, object quota)
        => Assert.Equal(quota, _broker.Broker.Operations.Find(opcode)!.Quota);

    [Fact]
    public void GivenTheOperations_WhenTheirRowsAreRead_ThenAllButThreeCountAsOneRequest()
    {
        Opcode[] others =
        [
            .. Enum.GetValues<Opcode>().Where(
                opcode => _broker.Broker.Operations.Find(opcode)!.Quota != QuotaClass.Request),
        ];
        Assert.Equal([Opcode.Hello, Opcode.Produce, Opcode.Fetch], others.Order());
    }

    [Fact]
    public async Task GivenEveryOperationAndEveryRight_WhenOneRightIsGiven_ThenThatOperationAloneIsDone()
    {
        await SetAsync(new AccessRule(RuleEffect.Allow, "user:else", Permission.Read, ResourceKind.Topic, "else"));
        string before = await SnapshotAsync();
        foreach (AccessCase one in AccessCases.Of(_orders))
        {
            if (one.Need is not { } need)
            {
                Assert.False(await IsRefusedAsync(one), $"{one}: whoever is admitted may.");
                continue;
            }

            Assert.True(await IsRefusedAsync(one), $"{one}: no rule allows it.");
            foreach (AccessRule rule in AccessCases.RightsAbout(need).Where(rule => !AccessCases.Serves(rule, need)))
            {
                // What the cases need beside the right that they are about.
                if (IsPartOf(one, rule))
                    continue;
                await SetAsync(rule);
                Assert.True(await IsRefusedAsync(one), $"{one}: '{rule}' is another right.");
                await SetAsync(rule, isRemoved: true);
            }
        }

        Assert.Equal(before, await SnapshotAsync());
        foreach (AccessCase one in AccessCases.Of(_orders).Where(one => one.Need is not null))
        {
            AccessRule need = one.Need!;
            await SetAsync(need);
            await SetAsync(need with { Effect = RuleEffect.Deny });
            Assert.True(await IsRefusedAsync(one), $"{one}: a deny rule stands beside it.");
            await SetAsync(need with { Effect = RuleEffect.Deny }, isRemoved: true);
            Assert.False(await IsRefusedAsync(one), $"{one}: '{need}' allows it.");
            await SetAsync(need, isRemoved: true);
        }
    }

    [Fact]
    public async Task GivenEveryOperation_WhenRefused_ThenItIsCountedAndWrittenDownOnceAndElseNot()
    {
        await SetAsync(new AccessRule(RuleEffect.Allow, "user:else", Permission.Read, ResourceKind.Topic, "else"));
        foreach (AccessCase one in AccessCases.Of(_orders).Where(one => one.Need is not null))
        {
            (long counted, int written) = (await RefusalsAsync(), _audit.Lines.Length);
            Assert.True(await IsRefusedAsync(one), $"{one}: no rule allows it.");
            AuditRecord[] lines = _audit.Lines[written..];
            Assert.True((one.IsList ? 0 : 1) == await RefusalsAsync() - counted, $"{one} is not counted as it is.");
            Assert.True((one.IsList ? 0 : 1) == lines.Length, $"{one}: {lines.Length} lines.");
            foreach (AuditRecord line in lines)
            {
                Assert.Equal(
                    (one.Opcode.ToString(), ErrorCode.NotAuthorized, "user:worker", "test"),
                    (line.Operation, line.Outcome, line.Principal, line.Client));
                if (one.Need!.Resource != ResourceKind.Broker)
                    Assert.Equal(AccessRule.TextOf(one.Need.Resource, one.Need.Name), line.Resource);
                Assert.StartsWith("127.0.0.1:", line.Address, StringComparison.Ordinal);
            }
        }

        long before = await RefusalsAsync();
        foreach (AccessCase one in AccessCases.Of(_orders).Where(one => one.Need is not null))
        {
            await SetAsync(one.Need!);
            Assert.False(await IsRefusedAsync(one), $"{one}: it is allowed.");
            await SetAsync(one.Need!, isRemoved: true);
        }

        Assert.Equal(before, await RefusalsAsync());
    }

    [Fact]
    public async Task GivenNoRule_WhenAUserAsks_ThenEverythingMayBeDone()
    {
        foreach (AccessCase one in AccessCases.Of(_orders).Where(one => one.Opcode is not Opcode.SetRule))
            Assert.False(await IsRefusedAsync(one), $"{one}: there is no rule.");
    }

    [Theory]
    [InlineData("user:worker", "orders", true)]
    [InlineData("user:worker", "ord*", true)]
    [InlineData("user:worker", "*", true)]
    [InlineData("*", "orders", true)]
    [InlineData("group:staff", "orders*", true)]
    [InlineData("group:others", "*", false)]
    [InlineData("user:work", "*", false)]
    [InlineData("user:worker2", "*", false)]
    [InlineData("user:worker", "order", false)]
    [InlineData("user:worker", "orders2*", false)]
    [InlineData("anonymous", "*", false)]
    public async Task GivenARuleOfAPrincipalAndAName_WhenTheWorkerReads_ThenItFitsOrNot(
        string principal, string name, bool fits)
    {
        await SetAsync(new AccessRule(RuleEffect.Allow, principal, Permission.Read, ResourceKind.Topic, name));
        AccessCase fetch = AccessCases.Of(_orders).Single(one => one.Opcode == Opcode.Fetch);
        Assert.Equal(!fits, await IsRefusedAsync(fetch));
        TestRuleResponse told = await _worker.InvokeAsync(
            new TestRuleRequest("", Permission.Read, ResourceKind.Topic, "orders"));
        Assert.Equal((fits, "user:worker"), (told.IsAllowed, told.Principal));
    }

    [Fact]
    public async Task GivenAFetchThatWaits_WhenItsRuleIsRemoved_ThenItIsAnsweredWithNotAuthorized()
    {
        var rule = new AccessRule(RuleEffect.Allow, "user:worker", Permission.Read, ResourceKind.Topic, "orders");
        await SetAsync(rule);
        await SetAsync(rule with { Name = "other" });
        long parked = await _owner.FigureAsync("broker.parkedFetches");
        FetchRequest request = Messages.Open(20_000, Messages.From(_orders.Queues[0].Id, 0));
        Task<ResponseFrame> waiting = _worker.SendAsync(Opcode.Fetch, TestPeer.Encode(request)).AsTask();
        await Eventually.TrueAsync(async () => await _owner.FigureAsync("broker.parkedFetches") > parked);

        await SetAsync(rule, isRemoved: true);

        using ResponseFrame answer = await waiting.WaitAsync(TimeSpan.FromSeconds(10));
        Assert.Equal(
            ErrorCode.NotAuthorized, Messages.ReadFetched(answer).Queues[0].Header.Error);
    }

    [Fact]
    public async Task GivenAMemberOfAnother_WhenItsIdIsKnown_ThenNobodyElseSpeaksForIt()
    {
        var member = Guid.NewGuid();
        var join = new GroupHeartbeatRequest
        {
            Group = "billing",
            Member = member,
            Subscriptions = [new TopicSubscription("orders", [])],
        };
        GroupHeartbeatResponse told = await _owner.InvokeAsync(join);
        await SetAsync(new AccessRule(RuleEffect.Allow, "user:worker", Permission.Read, ResourceKind.Group, "*"));
        await SetAsync(new AccessRule(RuleEffect.Allow, "user:worker", Permission.Describe, ResourceKind.Topic, "*"));

        GroupDescription seen = await _worker.InvokeAsync(new DescribeGroupRequest("billing", null, false));
        Assert.Equal(Guid.Empty, Assert.Single(seen.Members).Member);
        var commit = new OffsetCommit(
            new QueueKey(0, _orders.Queues[0].Id), new GroupGeneration(-1), new QueueOffset(0), -1, null);
        foreach (ErrorCode answer in (ErrorCode[])
            [
                (await _worker.RefusalAsync(new GroupLeaveRequest("billing", member, false))).Code,
                (await _worker.RefusalAsync(join with { Generation = told.Generation, Subscriptions = null })).Code,
                (await _worker.RefusalAsync(new CommitOffsetsRequest("billing", member, [commit]))).Code,
            ])
        {
            Assert.Equal(ErrorCode.UnknownMember, answer);
        }

        seen = await _owner.InvokeAsync(new DescribeGroupRequest("billing", null, false));
        Assert.Equal(member, Assert.Single(seen.Members).Member);
    }

    [Fact]
    public async Task GivenAProducerOfAnother_WhenItsIdIsRead_ThenNobodyElseSendsInItsNameOrShutsItOut()
    {
        var right = new AccessRule(RuleEffect.Allow, "user:worker", Permission.Write, ResourceKind.Topic, "*");
        await SetAsync(right);
        QueueId queue = _orders.Queues[0].Id;
        ProducerSession victim = await InitAsync(_owner, ProducerSession.None);
        Assert.Equal(ErrorCode.None, await SendAsync(_owner, victim, 0, "first"));

        Assert.Equal(ErrorCode.UnknownProducer, await SendAsync(_worker, victim, 1, "forged"));
        Assert.Equal(ErrorCode.UnknownProducer, await SendAsync(_worker, victim, 0, "first"));
        ProducerSession own = await InitAsync(_worker, victim);
        Assert.NotEqual(victim.Id, own.Id);
        Assert.Equal(0, own.Epoch);
        Assert.Equal(ErrorCode.None, await SendAsync(_worker, own, 0, "own"));

        // The owner works as before, and after a start, over another connection too.
        Assert.Equal(ErrorCode.DuplicateSequence, await SendAsync(_owner, victim, 0, "first"));
        await _worker.DisposeAsync();
        await _owner.DisposeAsync();
        _broker = await _broker.RestartAsync();
        _owner = await _broker.ConnectAsync();
        Assert.Equal(ErrorCode.DuplicateSequence, await SendAsync(_owner, victim, 0, "first"));
        Assert.Equal(ErrorCode.None, await SendAsync(_owner, victim, 1, "second"));
        Assert.Equal(victim with { Epoch = 1 }, await InitAsync(_owner, victim));

        async Task<ErrorCode> SendAsync(TestPeer peer, ProducerSession session, int sequence, string body) =>
            (await peer.ProduceAsync(Durability.Policy, (queue, Messages.Batch(session, sequence, body))))[0].Error;
        static async Task<ProducerSession> InitAsync(TestPeer peer, ProducerSession known) =>
            (await peer.InvokeAsync(new InitProducerRequest(null, known))).Session;
    }

    [Fact]
    public async Task GivenUsersTokensAndRules_WhenTheBrokerStartsAgain_ThenTheyAreAsTheyWere()
    {
        await SetAsync(new AccessRule(RuleEffect.Deny, "*", Permission.Delete, ResourceKind.Topic, "*"));
        await SetAsync(new AccessRule(RuleEffect.Allow, "user:worker", Permission.All, ResourceKind.Broker, ""));
        string before = await ListAsync();
        await _worker.DisposeAsync();
        await _owner.DisposeAsync();
        _broker = await _broker.RestartAsync();
        _owner = await _broker.ConnectAsync();
        Assert.Equal(before, await ListAsync());

        // From a snapshot as well.
        await _owner.DisposeAsync();
        _broker = await _broker.RestartAsync();
        _owner = await _broker.ConnectAsync();
        Assert.Equal(before, await ListAsync());
    }

    private Task<long> RefusalsAsync() => _owner.FigureAsync("broker.unauthorizedRequests");

    private static bool IsPartOf(AccessCase one, AccessRule rule) =>
        one.Opcode == Opcode.TestRule && rule.Permission == Permission.Administer;

    private async Task<string> ListAsync()
    {
        ListUsersResponse users = await _owner.InvokeAsync(new ListUsersRequest(null, 100));
        ListTokensResponse tokens = await _owner.InvokeAsync(new ListTokensRequest(null, 100));
        ListRulesResponse rules = await _owner.InvokeAsync(new ListRulesRequest(null, 100));
        Assert.NotEmpty(users.Users);
        Assert.NotEmpty(tokens.Tokens);
        return string.Join(
            '\n',
            [
                .. users.Users.Select(user => $"{user.Name} {user.IsDisabled} {string.Join(',', user.Groups)}"),
                .. tokens.Tokens.Select(token => token.ToString()),
                .. rules.Rules.Select(rule => rule.ToString()),
            ]);
    }

    private async Task CommitAsync(string group)
    {
        var commit = new OffsetCommit(
            new QueueKey(0, _orders.Queues[0].Id), new GroupGeneration(-1), new QueueOffset(0), -1, null);
        await _owner.InvokeAsync(new CommitOffsetsRequest(group, Guid.Empty, [commit]));
    }

    private async Task SetAsync(AccessRule rule, bool isRemoved = false) =>
        await _owner.InvokeAsync(new SetRuleRequest(rule, isRemoved));

    /// <summary>What the operations could have changed.</summary>
    private async Task<string> SnapshotAsync()
    {
        ListTopicsResponse topics = await _owner.InvokeAsync(new ListTopicsRequest(null, 100));
        ListGroupsResponse groups = await _owner.InvokeAsync(new ListGroupsRequest(null, 100));
        TopicDescription orders = await _owner.InvokeAsync(new DescribeTopicRequest("orders"));
        ListQuotasResponse quotas = await _owner.InvokeAsync(new ListQuotasRequest());
        return string.Join(
            '\n',
            [
                .. topics.Topics.Select(topic => topic.Topic),
                .. groups.Groups.Select(group => $"{group.Group} {group.MemberCount}"),
                .. orders.Queues.Select(queue => $"{queue.State} {queue.End}"),
                orders.Settings.ToString(),
                .. quotas.Quotas.Select(quota => quota.ToString()),
                await ListAsync(),
            ]);
    }

    private async Task<bool> IsRefusedAsync(AccessCase one)
    {
        using ResponseFrame answer = await _worker.SendAsync(one.Opcode, one.Body());
        return (ErrorCode)answer.Header.Error switch
        {
            ErrorCode.NotAuthorized => true,
            ErrorCode.None => one.IsRefused?.Invoke(answer) ?? false,
            _ => false,
        };
    }
}
