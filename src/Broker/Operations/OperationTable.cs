using EQueue.Protocol;

namespace EQueue.Broker;

/// <summary>Every operation of the broker: its right, to what, how it counts for quotas, and its handler.</summary>
/// <remarks>
/// The dispatcher finds each request's row here, and <see cref="RequestAdmission"/> does what the row says before the
/// handler runs. An opcode without a row fails a test. All rows but those of <see cref="AddDirect"/> count as one
/// request for quotas. Filled when the broker starts, never changed.
/// </remarks>
internal sealed class OperationTable
{
    private const ResourceKind Topic = ResourceKind.Topic;
    private const ResourceKind Group = ResourceKind.Group;

    private readonly OperationRow?[] _rows = new OperationRow?[byte.MaxValue + 1];
    private readonly RequestAdmission _admission;

    public OperationTable(ModuleContext context, BrokerModules modules, RequestAdmission admission)
    {
        _admission = admission;
        AddDirect(modules, new HelloHandler(context, modules.Security));
        AddTopics(context, modules);
        AddGroups(modules.Groups);
        AddBroker(modules.Stats, new QuotaHandler(modules.Quotas));
        AddSecurity(new SecurityHandler(modules.Security.Table));
    }

    /// <summary>The row of an operation; null = there is none: it is not known.</summary>
    public OperationRow? Find(Opcode opcode) => _rows[(byte)opcode];

    /// <summary>Operations whose handlers read their requests themselves, and decide thing by thing what the peer
    /// may.</summary>
    private void AddDirect(BrokerModules modules, HelloHandler hello)
    {
        GroupModule groups = modules.Groups;
        Add(new(Opcode.Hello, null, ResourceKind.Broker) { Quota = QuotaClass.None }, hello.HandleAsync);
        Add(new(Opcode.Produce, Permission.Write, Topic) { Quota = QuotaClass.Produce }, modules.Producing.HandleAsync);
        Add(new(Opcode.Fetch, Permission.Read, Topic) { Quota = QuotaClass.Fetch }, modules.Fetching.HandleAsync);
        Add(new(Opcode.CommitOffsets, Permission.Read, Group), groups.Commits.CommitAsync);
        Add(new(Opcode.GroupHeartbeat, Permission.Read, Group), groups.Heartbeats.HandleAsync);

        // A node of a cluster serves it, before the broker sees the request.
        Add(new(Opcode.WatchLeader, null, ResourceKind.Broker), handler: null);
    }

    private void AddTopics(ModuleContext context, BrokerModules modules)
    {
        var topics = new TopicHandler(context.Store, modules.Topics, modules.Groups);
        var offsets = new OffsetHandler(context.Store, modules.Topics);
        var history = new HistoryHandler(context.Store, modules.Topics);
        Change<CreateTopicRequest, TopicDescription>(
            Permission.Create, Topic, static x => x.Topic, topics.CreateAsync);
        Change<AlterTopicRequest, TopicDescription>(Permission.Alter, Topic, static x => x.Topic, topics.AlterAsync);
        Change<AlterQueuesRequest, TopicDescription>(
            Permission.Alter, Topic, static x => x.Topic, topics.AlterQueuesAsync);
        Change<DeleteTopicRequest, Done>(Permission.Delete, Topic, static x => x.Topic, topics.DeleteAsync);
        Look<DescribeTopicRequest, TopicDescription>(
            Permission.Describe, Topic, static x => x.Topic, topics.DescribeAsync);
        Within<ListTopicsRequest, ListTopicsResponse>(Permission.Describe, Topic, topics.ListAsync);
        Within<RouteRequest, RouteResponse>(Permission.Describe, Topic, topics.RouteAsync);
        Within<FindOffsetsRequest, FindOffsetsResponse>(Permission.Describe, Topic, offsets.FindAsync);
        Within<FindByKeyRequest, FindByKeyResponse>(Permission.Read, Topic, offsets.FindByKeyAsync);
        Open<CheckHistoryRequest, CheckHistoryResponse>(history.CheckAsync);
        Open<InitProducerRequest, InitProducerResponse>(modules.Producing.InitProducerAsync);
    }

    private void AddGroups(GroupModule groups)
    {
        Look<GroupLeaveRequest, Done>(Permission.Read, Group, static x => x.Group, groups.Heartbeats.LeaveAsync);
        Look<ReadOffsetsRequest, ReadOffsetsResponse>(
            Permission.Describe, Group, static x => ProgressName.Split(x.Group).Group, groups.Commits.ReadAsync);
        Within<ListGroupsRequest, ListGroupsResponse>(Permission.Describe, Group, groups.Admin.ListAsync);
        Look<DescribeGroupRequest, GroupDescription>(
            Permission.Describe, Group, static x => x.Group, groups.Admin.DescribeAsync);
        Change<ResetOffsetsRequest, ResetOffsetsResponse>(
            Permission.Alter, Group, static x => ProgressName.Split(x.Group).Group, groups.Admin.ResetAsync);
        Change<DeleteGroupRequest, Done>(Permission.Delete, Group, static x => x.Group, groups.Admin.DeleteAsync);
    }

    private void AddBroker(StatsHandler stats, QuotaHandler quotas)
    {
        LookAtBroker<StatsRequest, StatsResponse>(Permission.Describe, stats.HandleAsync);
        LookAtBroker<ListQuotasRequest, ListQuotasResponse>(Permission.Describe, quotas.ListAsync);
        Administer<SetQuotaRequest, Done>(
            static x => $"quota:{x.Quota.Kind.ToString().ToLowerInvariant()}:{x.Quota.Name}", quotas.SetAsync);
    }

    private void AddSecurity(SecurityHandler security)
    {
        Administer<SetUserRequest, Done>(static x => Principal.OfUser(x.Name), security.SetUserAsync);
        Administer<DeleteUserRequest, Done>(static x => Principal.OfUser(x.Name), security.DeleteUserAsync);
        LookAtBroker<ListUsersRequest, ListUsersResponse>(Permission.Administer, security.ListUsersAsync);
        Administer<CreateTokenRequest, CreateTokenResponse>(
            static x => Principal.OfUser(x.User), security.CreateTokenAsync);
        Administer<RevokeTokenRequest, Done>(static x => AuditFacts.NameOfToken(x.Id), security.RevokeTokenAsync);
        LookAtBroker<ListTokensRequest, ListTokensResponse>(Permission.Administer, security.ListTokensAsync);
        Administer<SetRuleRequest, Done>(static x => $"rule:{x.Rule}", security.SetRuleAsync);
        LookAtBroker<ListRulesRequest, ListRulesResponse>(Permission.Administer, security.ListRulesAsync);
        Within<TestRuleRequest, TestRuleResponse>(Permission.Administer, ResourceKind.Broker, security.TestAsync);
    }

    /// <summary>Changes the one thing that the request names; it is written to the audit log.</summary>
    private void Change<TRequest, TResponse>(
        Permission permission,
        ResourceKind resource,
        Func<TRequest, string> name,
        Func<BrokerConnection, TRequest, CancellationToken, ValueTask<TResponse>> handler)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        Add(
            new(TRequest.Opcode, permission, resource)
            {
                Name = request => name((TRequest)request),
                IsAudited = true,
            },
            handler);

    /// <summary>Looks at the one thing that the request names.</summary>
    private void Look<TRequest, TResponse>(
        Permission permission,
        ResourceKind resource,
        Func<TRequest, string> name,
        Func<BrokerConnection, TRequest, CancellationToken, ValueTask<TResponse>> handler)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        Add(
            new(TRequest.Opcode, permission, resource) { Name = request => name((TRequest)request) }, handler);

    /// <summary>Its handler decides, thing by thing.</summary>
    private void Within<TRequest, TResponse>(
        Permission permission,
        ResourceKind resource,
        Func<BrokerConnection, TRequest, CancellationToken, ValueTask<TResponse>> handler)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        Add(new(TRequest.Opcode, permission, resource), handler);

    /// <summary>For all peers that are admitted.</summary>
    private void Open<TRequest, TResponse>(
        Func<BrokerConnection, TRequest, CancellationToken, ValueTask<TResponse>> handler)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        Add(new(TRequest.Opcode, null, ResourceKind.Broker), handler);

    /// <summary>Looks at something of the broker's.</summary>
    private void LookAtBroker<TRequest, TResponse>(
        Permission permission, Func<BrokerConnection, TRequest, CancellationToken, ValueTask<TResponse>> handler)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        Add(new(TRequest.Opcode, permission, ResourceKind.Broker) { Name = static _ => "" }, handler);

    /// <summary>Changes something of the broker's; it is written to the audit log.</summary>
    /// <param name="subject">What it changes, as "user:alice".</param>
    /// <param name="handler">Does it.</param>
    private void Administer<TRequest, TResponse>(
        Func<TRequest, string> subject,
        Func<BrokerConnection, TRequest, CancellationToken, ValueTask<TResponse>> handler)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        Add(
            new(TRequest.Opcode, Permission.Administer, ResourceKind.Broker)
            {
                Name = static _ => "",
                Subject = request => subject((TRequest)request),
                IsAudited = true,
            },
            handler);

    private void Add<TRequest, TResponse>(
        OperationRow row, Func<BrokerConnection, TRequest, CancellationToken, ValueTask<TResponse>> handler)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse> =>
        Add(row, (peer, header, payload) => _admission.HandleAsync(row, handler, peer, header, payload));

    private void Add(OperationRow row, OperationHandler? handler) =>
        _rows[(byte)row.Opcode] = row with { Handler = handler };
}
