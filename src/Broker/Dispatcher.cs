using EQueue.Protocol;
using EQueue.Remoting;
using Microsoft.Extensions.Logging;

namespace EQueue.Broker;

/// <summary>Leads each frame to its operation, and each failure of an operation to its answer.</summary>
/// <remarks>Called by the receive loops of all connections. Owns nothing but the counts of what came.</remarks>
internal sealed class Dispatcher(
    HelloHandler hello,
    TopicHandler topics,
    ProduceHandler produce,
    FetchHandler fetch,
    OffsetHandler offsets,
    HistoryHandler history,
    CommitHandler commits,
    HeartbeatHandler heartbeats,
    GroupAdminHandler groupAdmin,
    StatsHandler stats,
    QuotaHandler quotaAdmin,
    SecurityParts security,
    AuditFacts facts,
    QuotaTable quotas,
    MemoryLedger ledger,
    BrokerCounters counters,
    FailureAnswers failures,
    BrokerOptions options,
    ILogger logger) : IConnectionHandler
{
    /// <summary>Requests below it are handled at once, whatever memory there is.</summary>
    private const int LongRequestBytes = 16 << 10;

    /// <summary>What a long request takes when it is read into objects, at most: so many times its bytes.</summary>
    private const int ObjectFactor = 12;

    private readonly SecurityHandler _securityAdmin = new(security.Table);

    /// <inheritdoc/>
    public void OnConnected(ServerConnection connection)
    {
        connection.State = new BrokerConnection(connection, options.Limits.MaxRequestsInFlight)
        {
            MaxFrameBytes = options.MaxFrameBytes,
        };
        Interlocked.Increment(ref counters.Connections);
        logger.ConnectionOpened(connection.Id, connection.RemoteEndPoint);
    }

    /// <inheritdoc/>
    public void OnDisconnected(ServerConnection connection, Exception? cause)
    {
        Interlocked.Decrement(ref counters.Connections);
        var peer = (BrokerConnection)connection.State!;
        fetch.EndSessions(peer);
        heartbeats.EndConnection(peer);
        BacklogTable.EndConnection(peer);
        security.Authenticator.End(peer);
        security.Peers.Remove(peer);
        logger.ConnectionClosed(connection.Id, connection.RemoteEndPoint, cause?.Message);
    }

    /// <inheritdoc/>
    public ValueTask OnFrameAsync(ServerConnection connection, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        var peer = (BrokerConnection)connection.State!;
        Interlocked.Increment(ref counters.Requests);
        if (peer.Client is null && header.Opcode != (byte)Opcode.Hello)
            return RefuseAndClose(peer, header, ErrorCode.HelloRequired, null);
        if (header.IsResponse)
        {
            return RefuseAndClose(
                peer, header, ErrorCode.MalformedRequest, "The broker asked nothing: an answer came.");
        }

        if (header.Version != 0 && header.Version > OperationVersions.Highest((Opcode)header.Opcode))
            return RefuseVersion(peer, header);

        switch ((Opcode)header.Opcode)
        {
            case Opcode.Produce:
                return produce.HandleAsync(peer, header, payload);
            case Opcode.Fetch:
                return payload.Length < LongRequestBytes
                    ? fetch.HandleAsync(peer, header, payload)
                    : HandleLongAsync(peer, header, payload, fetch.HandleAsync);
            case Opcode.Hello:
                Greet(peer, header, payload);
                return ValueTask.CompletedTask;
            default:
                ValueTask handling = payload.Length < LongRequestBytes
                    ? HandleOtherAsync(peer, header, payload)
                    : HandleLongAsync(peer, header, payload, HandleOtherAsync);
                TimeSpan debt = quotas.OfClient(peer)?.ChargeRequest() ?? TimeSpan.Zero;
                return debt < QuotaTable.ShortestWait
                    ? handling
                    : quotas.Throttle.PauseAsync(peer, handling, QuotaTable.Cut(debt));
        }
    }

    /// <summary>A request that may take much when it is read: it waits until there is memory for that.</summary>
    private async ValueTask HandleLongAsync(
        BrokerConnection peer,
        FrameHeader header,
        ReadOnlyMemory<byte> payload,
        Func<BrokerConnection, FrameHeader, ReadOnlyMemory<byte>, ValueTask> handle)
    {
        long bytes = (long)payload.Length * ObjectFactor;
        await ledger.Requests.TakeAsync(bytes, peer.Closed);
        try
        {
            await handle(peer, header, payload);
        }
        finally
        {
            ledger.Requests.Give(bytes);
        }
    }

    private ValueTask HandleOtherAsync(BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        switch ((Opcode)header.Opcode)
        {
            case Opcode.CommitOffsets:
                return commits.CommitAsync(peer, header, payload);
            case Opcode.CreateTopic:
                return HandleAsync<CreateTopicRequest, TopicDescription>(peer, header, payload, topics.CreateAsync);
            case Opcode.AlterTopic:
                return HandleAsync<AlterTopicRequest, TopicDescription>(peer, header, payload, topics.AlterAsync);
            case Opcode.AlterQueues:
                return HandleAsync<AlterQueuesRequest, TopicDescription>(
                    peer, header, payload, topics.AlterQueuesAsync);
            case Opcode.DeleteTopic:
                return HandleAsync<DeleteTopicRequest, Done>(peer, header, payload, topics.DeleteAsync);
            case Opcode.ListTopics:
                return HandleAsync<ListTopicsRequest, ListTopicsResponse>(peer, header, payload, topics.ListAsync);
            case Opcode.DescribeTopic:
                return HandleAsync<DescribeTopicRequest, TopicDescription>(peer, header, payload, topics.DescribeAsync);
            case Opcode.Route:
                return HandleAsync<RouteRequest, RouteResponse>(peer, header, payload, topics.RouteAsync);
            case Opcode.InitProducer:
                return HandleAsync<InitProducerRequest, InitProducerResponse>(
                    peer, header, payload, produce.InitProducerAsync);
            case Opcode.FindOffsets:
                return HandleAsync<FindOffsetsRequest, FindOffsetsResponse>(peer, header, payload, offsets.FindAsync);
            case Opcode.FindByKey:
                return HandleAsync<FindByKeyRequest, FindByKeyResponse>(peer, header, payload, offsets.FindByKeyAsync);
            case Opcode.CheckHistory:
                return HandleAsync<CheckHistoryRequest, CheckHistoryResponse>(
                    peer, header, payload, history.CheckAsync);
            case Opcode.ReadOffsets:
                return HandleAsync<ReadOffsetsRequest, ReadOffsetsResponse>(peer, header, payload, commits.ReadAsync);
            case Opcode.GroupHeartbeat:
                return heartbeats.HandleAsync(peer, header, payload);
            case Opcode.GroupLeave:
                return HandleAsync<GroupLeaveRequest, Done>(peer, header, payload, heartbeats.LeaveAsync);
            case Opcode.ListGroups:
                return HandleAsync<ListGroupsRequest, ListGroupsResponse>(peer, header, payload, groupAdmin.ListAsync);
            case Opcode.DescribeGroup:
                return HandleAsync<DescribeGroupRequest, GroupDescription>(
                    peer, header, payload, groupAdmin.DescribeAsync);
            case Opcode.ResetOffsets:
                return HandleAsync<ResetOffsetsRequest, ResetOffsetsResponse>(
                    peer, header, payload, groupAdmin.ResetAsync);
            case Opcode.DeleteGroup:
                return HandleAsync<DeleteGroupRequest, Done>(peer, header, payload, groupAdmin.DeleteAsync);
            case Opcode.Stats:
                return HandleAsync<StatsRequest, StatsResponse>(peer, header, payload, stats.HandleAsync);
            case Opcode.SetQuota:
                return HandleAsync<SetQuotaRequest, Done>(peer, header, payload, quotaAdmin.SetAsync);
            case Opcode.ListQuotas:
                return HandleAsync<ListQuotasRequest, ListQuotasResponse>(
                    peer, header, payload, quotaAdmin.ListAsync);
            default:
                return HandleSecurityAsync(peer, header, payload);
        }
    }

    private ValueTask HandleSecurityAsync(BrokerConnection peer, FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        switch ((Opcode)header.Opcode)
        {
            case Opcode.SetUser:
                return HandleAsync<SetUserRequest, Done>(peer, header, payload, _securityAdmin.SetUserAsync);
            case Opcode.DeleteUser:
                return HandleAsync<DeleteUserRequest, Done>(peer, header, payload, _securityAdmin.DeleteUserAsync);
            case Opcode.ListUsers:
                return HandleAsync<ListUsersRequest, ListUsersResponse>(
                    peer, header, payload, _securityAdmin.ListUsersAsync);
            case Opcode.CreateToken:
                return HandleAsync<CreateTokenRequest, CreateTokenResponse>(
                    peer, header, payload, _securityAdmin.CreateTokenAsync);
            case Opcode.RevokeToken:
                return HandleAsync<RevokeTokenRequest, Done>(peer, header, payload, _securityAdmin.RevokeTokenAsync);
            case Opcode.ListTokens:
                return HandleAsync<ListTokensRequest, ListTokensResponse>(
                    peer, header, payload, _securityAdmin.ListTokensAsync);
            case Opcode.SetRule:
                return HandleAsync<SetRuleRequest, Done>(peer, header, payload, _securityAdmin.SetRuleAsync);
            case Opcode.ListRules:
                return HandleAsync<ListRulesRequest, ListRulesResponse>(
                    peer, header, payload, _securityAdmin.ListRulesAsync);
            case Opcode.TestRule:
                return HandleAsync<TestRuleRequest, TestRuleResponse>(
                    peer, header, payload, _securityAdmin.TestAsync);
            default:
                Interlocked.Increment(ref counters.RefusedRequests);
                peer.Refuse(header, ErrorCode.UnknownOperation, $"There is no operation {header.Opcode}.");
                return ValueTask.CompletedTask;
        }
    }

    /// <summary>Opens the connection, step by step; a refused one is closed.</summary>
    private void Greet(BrokerConnection peer, in FrameHeader header, ReadOnlyMemory<byte> payload)
    {
        try
        {
            if (!Payload.TryRead(payload.Span, out HelloRequest request))
                throw RequestRules.Malformed(payload, Opcode.Hello);
            AuthenticatedHello answer = hello.Handle(peer, request, header.Version);
            if (header.IsOneway)
                return;
            if (header.Version == OperationVersions.Authenticated)
                peer.Answer(header, answer);
            else
                peer.Answer(header, answer.Hello);
        }
        catch (Exception exception)
        {
            failures.Answer(peer, header, exception);
            if (peer.Client is null)
                peer.Transport.CloseAfterFlush();
        }
    }

    private ValueTask RefuseVersion(BrokerConnection peer, in FrameHeader header)
    {
        Interlocked.Increment(ref counters.RefusedRequests);
        bool isKnown = Enum.IsDefined((Opcode)header.Opcode);
        peer.Refuse(
            header,
            isKnown ? ErrorCode.UnsupportedVersion : ErrorCode.UnknownOperation,
            isKnown
                ? $"Version {header.Version} of {(Opcode)header.Opcode} came; this broker speaks up to version "
                    + $"{OperationVersions.Highest((Opcode)header.Opcode)}."
                : $"There is no operation {header.Opcode}.");
        if (peer.Client is null)
            peer.Transport.CloseAfterFlush();
        return ValueTask.CompletedTask;
    }

    private ValueTask RefuseAndClose(BrokerConnection peer, in FrameHeader header, ErrorCode error, string? message)
    {
        Interlocked.Increment(ref counters.RefusedRequests);
        logger.ConnectionRefused(peer.Id, peer.Transport.RemoteEndPoint, error);
        peer.Refuse(header, error, message);
        peer.Transport.CloseAfterFlush();
        return ValueTask.CompletedTask;
    }

    /// <summary>An operation that is not on the hot path: the whole request in, what the table says of it checked, the
    /// whole answer out, exceptions to typed answers, and written down what was administered.</summary>
    private async ValueTask HandleAsync<TRequest, TResponse>(
        BrokerConnection peer,
        FrameHeader header,
        ReadOnlyMemory<byte> payload,
        Func<BrokerConnection, TRequest, CancellationToken, ValueTask<TResponse>> handler)
        where TRequest : IRequest<TRequest, TResponse>
        where TResponse : IPayload<TResponse>
    {
        OperationRow row = OperationTable.Of(TRequest.Opcode);
        string resource = "";
        try
        {
            if (!Payload.TryRead(payload.Span, out TRequest request))
                throw RequestRules.Malformed(payload, TRequest.Opcode);
            bool isAudited = row.IsAudited && security.Audit.IsOn;
            resource = row.ResourceOf(request);
            row.Check(PeerAccess.Of(peer), TRequest.Opcode, request, resource);
            string before = isAudited ? facts.Tell(request) : "";
            TResponse response = await handler(peer, request, peer.Closed);
            if (isAudited)
            {
                string change = facts.Compare(before, request, response);
                security.Audit.Done(peer.Client!, TRequest.Opcode, resource, change);
            }

            if (!header.IsOneway)
                peer.Answer(header, response);
        }
        catch (OperationCanceledException) when (peer.IsClosed)
        {
            // No peer is left to be answered.
            if (row.IsAudited)
            {
                security.Audit.Failed(
                    peer.Client!, TRequest.Opcode, resource, ErrorCode.ConnectionLost,
                    "The peer went before it was done; a part of it may be.");
            }
        }
        catch (Exception exception)
        {
            // What no rule allows is written down where it is decided.
            if (row.IsAudited && FailureAnswers.CodeOf(exception) is var code and not ErrorCode.NotAuthorized)
                security.Audit.Failed(peer.Client!, TRequest.Opcode, resource, code, exception.Message);
            failures.Answer(peer, header, exception);
        }
    }
}
