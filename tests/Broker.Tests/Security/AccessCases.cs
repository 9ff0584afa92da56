using System.Buffers.Binary;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker.Tests;

/// <summary>A request and the one right that it needs.</summary>
/// <param name="Opcode">Of the operation.</param>
/// <param name="Need">The right; null = every admitted user may.</param>
/// <param name="Body">The request's bytes, anew each time.</param>
/// <param name="IsRefused">Whether an answer without an error of its own says that it may not be done; null = an
/// answer never does.</param>
internal sealed record AccessCase(
    Opcode Opcode, AccessRule? Need, Func<FrameBuffer> Body, Func<ResponseFrame, bool>? IsRefused = null)
{
    /// <summary>Whether it is a list, which leaves out what must not be seen and refuses nothing.</summary>
    public bool IsList { get; init; }

    public override string ToString() => $"{Opcode} ({Need})";
}

/// <summary>A case for each operation, about the topic "orders" and the group "billing".</summary>
internal static class AccessCases
{
    public const string User = "worker";
    private const string Worker = "user:" + User;

    public static IReadOnlyList<AccessCase> Of(TopicDescription orders)
    {
        var key = new QueueKey(0, orders.Queues[0].Id);
        var member = Guid.NewGuid();
        var commit = new OffsetCommit(key, new GroupGeneration(-1), new QueueOffset(0), -1, null);
        var heartbeat = new GroupHeartbeatRequest
        {
            Group = "readers",
            Member = member,
            Generation = new GroupGeneration(1),
        };
        AccessRule rule = Topic(Permission.Read);
        return
        [
            Case(null, TestPeer.NewHello("again")),
            Case(null, new CheckHistoryRequest(new LogHistory([]), [])),
            Case(null, new WatchLeaderRequest(0, TimeSpan.Zero)),
            Case(null, new InitProducerRequest(null, ProducerSession.None)),
            Case(null, new TestRuleRequest("", Permission.Read, ResourceKind.Topic, "orders")),
            Case(Topic(Permission.Create, "new"), new CreateTopicRequest("new", new TopicSettings { QueueCount = 1 })),
            Case(Topic(Permission.Alter), new AlterTopicRequest("orders", new TopicSettings { QueueCount = 1 })),
            Case(Topic(Permission.Alter), new AlterQueuesRequest(
                "orders", null, QueueState.Writable, QueueState.Writable)),
            Case(Topic(Permission.Delete, "old"), new DeleteTopicRequest("old")),
            Case(Topic(Permission.Describe), new DescribeTopicRequest("orders")),
            Case(Topic(Permission.Describe), new ListTopicsRequest(null, 10), static x => x.Topics.Count == 0) with
            {
                IsList = true,
            },
            Case(
                Topic(Permission.Describe),
                new RouteRequest(["orders"], false),
                static x => x.Topics[0].Error == ErrorCode.NotAuthorized),
            Case(
                Topic(Permission.Create, "made"),
                new RouteRequest(["made"], true),
                static x => x.Topics[0].Error == ErrorCode.NotAuthorized),
            new(Opcode.Produce, Topic(Permission.Write),
                () => Messages.Produce(Durability.Policy, (key.Id, Messages.Batch("one"))),
                static answer => Messages.ReadProduced(answer)[0].Error == ErrorCode.NotAuthorized),
            new(Opcode.Fetch, Topic(Permission.Read),
                () => TestPeer.Encode(Messages.Open(0, Messages.From(key.Id, 0))), IsFetchRefused),
            Case(
                Topic(Permission.Describe),
                new FindOffsetsRequest([new OffsetQuestion(key, OffsetQuestion.End)]),
                static x => x.Answers[0].Error == ErrorCode.NotAuthorized),
            Case(Topic(Permission.Read), new FindByKeyRequest
            {
                Queue = key,
                Key = "key"u8.ToArray(),
                To = FindByKeyRequest.VisibleEnd,
                MaxCount = 1,
            }),
            Case(Group(Permission.Read, "readers"), heartbeat),
            Case(Group(Permission.Read, "readers"), new GroupLeaveRequest("readers", member, false)),
            Case(Group(Permission.Read), new CommitOffsetsRequest("billing", Guid.Empty, [commit])),
            Case(Group(Permission.Describe), new ReadOffsetsRequest("billing", null)),
            Case(Group(Permission.Describe), new ListGroupsRequest(null, 10), static x => x.Groups.Count == 0) with
            {
                IsList = true,
            },
            Case(Group(Permission.Describe), new DescribeGroupRequest("billing", null, false)),
            Case(Group(Permission.Alter), new ResetOffsetsRequest { Group = "billing", Topic = "orders" }),
            Case(Group(Permission.Delete, "leftover"), new DeleteGroupRequest("leftover", null)),
            Case(Broker(Permission.Describe), new StatsRequest()),
            Case(Broker(Permission.Describe), new ListQuotasRequest()),
            Case(Broker(Permission.Administer), new SetQuotaRequest(new Quota(QuotaKind.Client, "c", 1, 1, 1))),
            Case(Broker(Permission.Administer), new SetUserRequest("another", null, false, [], false)),
            Case(Broker(Permission.Administer), new DeleteUserRequest("nobody")),
            Case(Broker(Permission.Administer), new ListUsersRequest(null, 10)),
            Case(Broker(Permission.Administer), new CreateTokenRequest(User, 0, "")),
            Case(Broker(Permission.Administer), new RevokeTokenRequest("none")),
            Case(Broker(Permission.Administer), new ListTokensRequest(null, 10)),
            Case(Broker(Permission.Administer), new SetRuleRequest(rule with { Principal = "user:else" }, false)),
            Case(Broker(Permission.Administer), new ListRulesRequest(null, 10)),
            Case(Broker(Permission.Administer), new TestRuleRequest(
                "user:else", Permission.Read, ResourceKind.Topic, "orders")),
        ];
    }

    /// <summary>Every right about what the case names, each alone; one for all is left out.</summary>
    public static IEnumerable<AccessRule> RightsAbout(AccessRule need) =>
        from permission in Enum.GetValues<Permission>()
        where permission != Permission.All
        from resource in Enum.GetValues<ResourceKind>()
        let name = resource == ResourceKind.Broker ? "" : need.Name.Length == 0 ? "orders" : need.Name
        let rule = new AccessRule(RuleEffect.Allow, Worker, permission, resource, name)
        where IsRight(rule)
        select rule;

    /// <summary>Whether a right serves the need: it is the one, or it includes to see what is to be seen.</summary>
    public static bool Serves(AccessRule rule, AccessRule need) =>
        rule == need
        || (need.Permission == Permission.Describe && rule.Resource == need.Resource && rule.Name == need.Name);

    private static bool IsRight(AccessRule rule)
    {
        try
        {
            SecurityRules.Check(rule);
            return true;
        }
        catch (EQueueException)
        {
            return false;
        }
    }

    private static AccessRule Topic(Permission permission, string name = "orders") =>
        new(RuleEffect.Allow, Worker, permission, ResourceKind.Topic, name);

    private static AccessRule Group(Permission permission, string name = "billing") =>
        new(RuleEffect.Allow, Worker, permission, ResourceKind.Group, name);

    private static AccessRule Broker(Permission permission) =>
        new(RuleEffect.Allow, Worker, permission, ResourceKind.Broker, "");

    private static AccessCase Case<TRequest, TResponse>(AccessRule? need, IRequest<TRequest, TResponse> request)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        new(TRequest.Opcode, need, () => TestPeer.Encode((TRequest)request));

    private static AccessCase Case<TRequest, TResponse>(
        AccessRule need, IRequest<TRequest, TResponse> request, Func<TResponse, bool> isRefused)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> => Case(need, request) with
        {
            IsRefused = answer => isRefused(TestPeer.Read<TResponse>(answer)),
        };

    private static bool IsFetchRefused(ResponseFrame answer)
    {
        // The error of the first queue's header, behind the answer's.
        ReadOnlySpan<byte> head = answer.Payload.Span[FetchResponseHeader.Size..];
        return head.Length >= FetchedQueueHeader.Size
            && (ErrorCode)BinaryPrimitives.ReadUInt16LittleEndian(head[6..]) == ErrorCode.NotAuthorized;
    }
}
