using System.Buffers;
using System.Globalization;
using EQueue.Protocol;

namespace EQueue.System.Tests.Bounds;

/// <summary>For each operation the requests with the largest answer and the largest state that is kept: a new operation
/// needs a case here. Each is as large as a server with this memory takes it, or says how it is refused.</summary>
/// <param name="plant">What the server holds; null: for the operations alone.</param>
/// <param name="wait">How long what waits is to wait.</param>
internal sealed class BoundCases(BoundPlant plant, TimeSpan wait)
{
    private static readonly string Text = new('x', CommittedOffset.MaxMetadataBytes);
    private static readonly string[] Tags = [.. Enumerable.Range(0, 32).Select(i => i.ToString("D200"))];

    private int _turn;
    private int _topics;
    private int _goneTopics;
    private int _groups;
    private int _goneGroups;
    private int _users;
    private int _goneUsers;

    /// <summary>What one connection sends behind its Hello, by operation; each call gives another.</summary>
    public IReadOnlyDictionary<Opcode, Func<BoundRequest[]>> All => new Dictionary<Opcode, Func<BoundRequest[]>>
    {
        [Opcode.Hello] = () => Refused(ErrorCode.MalformedRequest, Many(
            4, new HelloRequest { ClientName = "again", ClientVersion = Text, Mechanism = Text })),
        [Opcode.CreateTopic] = () => [Of(new CreateTopicRequest(Made(ref _topics), Queues(1_000)))],
        [Opcode.AlterTopic] = () => Many(2, new AlterTopicRequest(BoundPlant.Wide, Queues(BoundPlant.WideQueues))),
        [Opcode.AlterQueues] = () => Many(
            2, new AlterQueuesRequest(BoundPlant.Wide, null, QueueState.Readable, QueueState.Readable)),
        [Opcode.DeleteTopic] = () => [Of(new DeleteTopicRequest(Made(ref _goneTopics)))],
        [Opcode.ListTopics] = () => Many(8, new ListTopicsRequest(null, int.MaxValue)),
        [Opcode.DescribeTopic] = () => Many(8, new DescribeTopicRequest(BoundPlant.Wide)),
        [Opcode.Route] = () =>
        [
            .. Many(8, new RouteRequest([BoundPlant.Wide], AutoCreate: true)),
            .. Refused(ErrorCode.InvalidArgument, Many(
                2, new RouteRequest([.. Enumerable.Repeat(BoundPlant.Wide, 1_000)], AutoCreate: false))),
            Of(new RouteRequest([.. Enumerable.Range(0, 900).Select(i => $"auto{i}")], AutoCreate: true)),
        ],
        // A broker of its own has no leader; nodes of a cluster are driven in Cluster.Tests.
        [Opcode.WatchLeader] = () => Refused(ErrorCode.UnknownOperation, Many(
            16, new WatchLeaderRequest(int.MaxValue, WatchLeaderRequest.MaxWait))),
        [Opcode.InitProducer] = () => Many(8, new InitProducerRequest(null, ProducerSession.None)),
        [Opcode.Produce] = () =>
        [
            .. Refused(ErrorCode.Timeout, plant.Parked(wait), plant.Parked(wait)),
            .. Refused(ErrorCode.UnknownQueue, plant.ManyBatches, plant.ManyBatches),
            plant.Kept,
        ],
        [Opcode.Fetch] = () =>
        [
            .. Enumerable.Repeat(plant.FetchLarge(wait), 16),
            .. Enumerable.Repeat(plant.FetchWide(wait), 2),
        ],
        [Opcode.FindOffsets] = () => Many(4, new FindOffsetsRequest(
            [.. plant.WideKeys.Select(queue => new OffsetQuestion(queue, OffsetQuestion.End))])),
        [Opcode.CheckHistory] = () => Many(4, new CheckHistoryRequest(
            new LogHistory([new HistoryEpoch(new HistoryMark(1, 7), 0)]),
            [.. plant.WideKeys.Select(queue => new HistoryPlace(queue, new QueueOffset(1)))])),
        [Opcode.FindByKey] = () => Many(4, new FindByKeyRequest
        {
            Queue = plant.LargeKey,
            Key = "key"u8.ToArray(),
            To = FindByKeyRequest.VisibleEnd,
            MaxCount = 1,
        }),
        [Opcode.CommitOffsets] = () =>
        [
            Commit(Made(ref _groups), Text, 200), Commit(Made(ref _groups), null, 3_400),
        ],
        [Opcode.ReadOffsets] = () =>
        [
            .. Many(4, new ReadOffsetsRequest(BoundPlant.Group, null)),
            .. Many(2, new ReadOffsetsRequest(BoundPlant.Group, plant.WideKeys)),
            .. Refused(ErrorCode.InvalidArgument, Many(
                1, new ReadOffsetsRequest(BoundPlant.Group, [.. Enumerable.Repeat(plant.LargeKey, 200_000)]))),
        ],
        [Opcode.GroupHeartbeat] = () =>
        [
            Of(Join($"reads{Next()}", [new TopicSubscription(BoundPlant.Wide, [])])),
            Of(Join($"tags{Next()}", [.. Enumerable.Range(0, 60).Select(i => new TopicSubscription($"t{i}", Tags))])),
            Of(Join("tags", [.. Enumerable.Range(0, 1_000).Select(i => new TopicSubscription($"t{i}", Tags[..2]))])),
        ],
        [Opcode.GroupLeave] = () =>
        [
            .. Stay($"stays{Next()}"),
            .. Refused(ErrorCode.UnknownMember, Many(2, new GroupLeaveRequest("tags", Guid.NewGuid(), Stays: true))),
        ],
        [Opcode.ListGroups] = () => Many(4, new ListGroupsRequest(null, int.MaxValue)),
        [Opcode.DescribeGroup] = () => Many(4, new DescribeGroupRequest(BoundPlant.Group, null, WithAges: true)),
        [Opcode.DeleteGroup] = () => Each(2, () => Of(new DeleteGroupRequest(Made(ref _goneGroups), null))),
        [Opcode.ResetOffsets] = () =>
            [Of(new ResetOffsetsRequest { Group = Made(ref _groups), Topic = BoundPlant.Wide, To = ResetTarget.End })],
        [Opcode.Stats] = () => Many(32, new StatsRequest()),
        [Opcode.SetQuota] = () =>
            Many(1, new SetQuotaRequest(new Quota(QuotaKind.Client, $"{Next()}".PadLeft(249, 'c'), 1L << 40, 0, 0))),
        [Opcode.ListQuotas] = () => Many(16, new ListQuotasRequest()),
        [Opcode.SetUser] = () => Each(8, () => Of(new SetUserRequest(
            LongName("u", Interlocked.Increment(ref _users)),
            null,
            null,
            [.. Enumerable.Range(0, 16).Select(i => LongName("g", i))],
            false))),
        [Opcode.DeleteUser] = () =>
            Each(1, () => Of(new DeleteUserRequest(LongName("u", Interlocked.Increment(ref _goneUsers))))),
        [Opcode.ListUsers] = () => Many(16, new ListUsersRequest(null, int.MaxValue)),
        [Opcode.CreateToken] = () =>
        [
            Of(new SetUserRequest(LongName("t", 0), null, null, [], false)),
            .. Many(8, new CreateTokenRequest(LongName("t", 0), 0, LongName("n", 0))),
        ],
        [Opcode.RevokeToken] = () => Many(4, new RevokeTokenRequest(LongName("r", Next()))),
        [Opcode.ListTokens] = () => Many(16, new ListTokensRequest(null, int.MaxValue)),
        [Opcode.SetRule] = () => Each(8, () => Of(new SetRuleRequest(
            new AccessRule(
                RuleEffect.Deny,
                "user:" + LongName("p", Next()),
                Permission.Read,
                ResourceKind.Topic,
                LongName("q", 0)),
            IsRemoved: false))),
        [Opcode.ListRules] = () => Many(16, new ListRulesRequest(null, int.MaxValue)),
        [Opcode.TestRule] = () => Many(16, new TestRuleRequest(
            "user:" + LongName("p", 1), Permission.Read, ResourceKind.Topic, LongName("q", 0))),
    };

    /// <summary>The first frame of a connection, with the longest names, each another.</summary>
    public byte[] Hello() => BoundPeer.Hello(
        Next().ToString("D249", CultureInfo.InvariantCulture), new string('v', NameRules.MaxLength));

    /// <summary>A frame with a request.</summary>
    public static BoundRequest Of<T>(IPayload<T> request)
        where T : IPayload<T>
    {
        var body = new ArrayBufferWriter<byte>();
        request.Write(new PayloadWriter(body));
        return BoundPeer.Frame(OpcodeOf(typeof(T)), body.WrittenSpan);
    }

    private static Opcode OpcodeOf(Type request) => (Opcode)request.GetProperty(nameof(Opcode))!.GetValue(null)!;

    private static BoundRequest[] Many<T>(int count, IPayload<T> request)
        where T : IPayload<T> => [.. Enumerable.Repeat(Of(request), count)];

    private static BoundRequest[] Each(int count, Func<BoundRequest> make) =>
        [.. Enumerable.Range(0, count).Select(_ => make())];

    private static BoundRequest[] Refused(ErrorCode expected, params BoundRequest[] requests) =>
        [.. requests.Select(request => request with { Expected = expected })];

    private static string LongName(string kind, int number) =>
        kind + number.ToString("D10").PadLeft(NameRules.MaxLength - kind.Length, '0');

    private static TopicSettings Queues(int count) => new() { QueueCount = count };

    /// <summary>A member that goes and keeps its queues for half an hour.</summary>
    private static BoundRequest[] Stay(string group)
    {
        GroupHeartbeatRequest join = Join(group, [new TopicSubscription(BoundPlant.Large, [])]) with
        {
            SessionTimeout = TimeSpan.FromMinutes(30),
        };
        return [Of(join), Of(new GroupLeaveRequest(group, join.Member, Stays: true))];
    }

    private static GroupHeartbeatRequest Join(string group, TopicSubscription[] wanted)
    {
        var member = Guid.NewGuid();
        return new GroupHeartbeatRequest
        {
            Group = group,
            Member = member,
            Sequence = 1,
            InstanceId = member.ToString("N"),
            SessionTimeout = TimeSpan.FromSeconds(10),
            MaxWait = TimeSpan.FromSeconds(3),
            Subscriptions = wanted,
        };
    }

    /// <summary>The name of the next that is made, or of the next of those made that goes.</summary>
    private static string Made(ref int count) => $"made{Interlocked.Increment(ref count)}";

    private BoundRequest Commit(string group, string? metadata, int queues) => Of(new CommitOffsetsRequest(
        group,
        Guid.Empty,
        [.. plant.WideKeys.Take(queues).Select(queue =>
            new OffsetCommit(queue, GroupGeneration.None, new QueueOffset(0), -1, metadata))]));

    private int Next() => Interlocked.Increment(ref _turn);
}

/// <summary>A frame of a case.</summary>
/// <param name="Bytes">Header and body.</param>
/// <param name="Expected">What it is answered; other than None it is refused on purpose.</param>
internal readonly record struct BoundRequest(byte[] Bytes, ErrorCode Expected = ErrorCode.None)
{
    public static implicit operator BoundRequest(byte[] bytes) => new(bytes);
}
