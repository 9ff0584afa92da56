using System.Buffers;
using System.Text;
using EQueue.Protocol;

namespace EQueue.System.Tests.Bounds;

/// <summary>For each operation the requests with the largest answer and the largest state that is kept: a new operation
/// needs a case here.</summary>
internal sealed class BoundCases(BoundPlant plant)
{
    private static readonly string Text = new('x', CommittedOffset.MaxMetadataBytes);
    private static readonly string[] Tags = [.. Enumerable.Range(0, 32).Select(i => i.ToString("D200"))];

    private int _turn;

    /// <summary>What one connection sends, by operation; each call gives another.</summary>
    public IReadOnlyDictionary<Opcode, Func<byte[][]>> All => new Dictionary<Opcode, Func<byte[][]>>
    {
        [Opcode.Hello] = () => Many(
            4, new HelloRequest { ClientName = "again", ClientVersion = Text, Mechanism = Text }),
        [Opcode.CreateTopic] = () => [Of(new CreateTopicRequest($"made{Next()}", Queues(1_000)))],
        [Opcode.AlterTopic] = () => Many(2, new AlterTopicRequest(BoundPlant.Wide, Queues(BoundPlant.WideQueues))),
        [Opcode.AlterQueues] = () => Many(
            2, new AlterQueuesRequest(BoundPlant.Wide, null, QueueState.Readable, QueueState.Readable)),
        [Opcode.DeleteTopic] = () => Many(4, new DeleteTopicRequest($"made{Next() - 20}")),
        [Opcode.ListTopics] = () => Many(8, new ListTopicsRequest(null, int.MaxValue)),
        [Opcode.DescribeTopic] = () => Many(8, new DescribeTopicRequest(BoundPlant.Wide)),
        [Opcode.Route] = () =>
        [
            .. Many(8, new RouteRequest([BoundPlant.Wide], AutoCreate: true)),
            .. Many(2, new RouteRequest([.. Enumerable.Repeat(BoundPlant.Wide, 1_000)], AutoCreate: false)),
            Of(new RouteRequest([.. Enumerable.Range(0, 900).Select(i => $"auto{i}")], AutoCreate: true)),
        ],
        [Opcode.WatchLeader] = () => Many(16, new WatchLeaderRequest(int.MaxValue, WatchLeaderRequest.MaxWait)),
        [Opcode.InitProducer] = () => Many(8, new InitProducerRequest(null, ProducerSession.None)),
        [Opcode.Produce] = () => [plant.Parked, plant.Parked, plant.ManyBatches, plant.ManyBatches],
        [Opcode.Fetch] = () =>
        [
            .. Enumerable.Repeat(plant.FetchLarge, 16),
            .. Enumerable.Repeat(plant.FetchWide, 16),
        ],
        [Opcode.FindOffsets] = () => Many(4, new FindOffsetsRequest(
            [.. plant.WideKeys.Select(queue => new OffsetQuestion(queue, OffsetQuestion.End))])),
        [Opcode.CheckHistory] = () => Many(4, new CheckHistoryRequest(
            new LogHistory([new HistoryEpoch(new HistoryMark(1, 7), 0)]),
            [.. plant.WideKeys.Select(queue => new QueuePlace(queue, new QueueOffset(1)))])),
        [Opcode.FindByKey] = () => Many(4, new FindByKeyRequest
        {
            Queue = plant.LargeKey,
            Key = "key"u8.ToArray(),
            To = FindByKeyRequest.VisibleEnd,
            MaxCount = 1,
        }),
        [Opcode.CommitOffsets] = () =>
        [
            Commit($"stranger{Next()}", Text, 200), Commit($"stranger{Next()}", null, 5_000),
        ],
        [Opcode.ReadOffsets] = () =>
        [
            .. Many(4, new ReadOffsetsRequest(BoundPlant.Group, null)),
            .. Many(2, new ReadOffsetsRequest(BoundPlant.Group, plant.WideKeys)),
            .. Many(1, new ReadOffsetsRequest(BoundPlant.Group, [.. Enumerable.Repeat(plant.LargeKey, 200_000)])),
        ],
        [Opcode.GroupHeartbeat] = () =>
        [
            Of(Join($"reads{Next()}", [new TopicSubscription(BoundPlant.Wide, [])])),
            Of(Join($"tags{Next()}", [.. Enumerable.Range(0, 60).Select(i => new TopicSubscription($"t{i}", Tags))])),
            Of(Join("tags", [.. Enumerable.Range(0, 1_000).Select(i => new TopicSubscription($"t{i}", Tags[..4]))])),
        ],
        [Opcode.GroupLeave] = () => Many(8, new GroupLeaveRequest("tags", Guid.NewGuid(), Stays: true)),
        [Opcode.ListGroups] = () => Many(4, new ListGroupsRequest(null, int.MaxValue)),
        [Opcode.DescribeGroup] = () => Many(4, new DescribeGroupRequest(BoundPlant.Group, null, WithAges: true)),
        [Opcode.ResetOffsets] = () =>
            [Of(new ResetOffsetsRequest { Group = $"reset{Next()}", Topic = BoundPlant.Wide, To = ResetTarget.End })],
        [Opcode.DeleteGroup] = () => Many(4, new DeleteGroupRequest($"stranger{Next() - 400}", null)),
        [Opcode.Stats] = () => Many(32, new StatsRequest()),
        [Opcode.SetQuota] = () =>
            Many(1, new SetQuotaRequest(new Quota(QuotaKind.Client, $"{Next()}".PadLeft(249, 'c'), 1L << 40, 0, 0))),
        [Opcode.ListQuotas] = () => Many(16, new ListQuotasRequest()),
        [Opcode.SetUser] = () => Many(4, new SetUserRequest(
            LongName("u", Next()), null, null, [.. Enumerable.Range(0, 16).Select(i => LongName("g", i))], false)),
        [Opcode.DeleteUser] = () => Many(4, new DeleteUserRequest(LongName("u", Next() - 400))),
        [Opcode.ListUsers] = () => Many(16, new ListUsersRequest(null, int.MaxValue)),
        [Opcode.CreateToken] = () =>
        [
            Of(new SetUserRequest(LongName("t", 0), null, null, [], false)),
            .. Many(8, new CreateTokenRequest(LongName("t", 0), 0, LongName("n", 0))),
        ],
        [Opcode.RevokeToken] = () => Many(4, new RevokeTokenRequest(LongName("r", Next()))),
        [Opcode.ListTokens] = () => Many(16, new ListTokensRequest(null, int.MaxValue)),
        [Opcode.SetRule] = () => Many(8, new SetRuleRequest(
            new AccessRule(
                RuleEffect.Deny,
                "user:" + LongName("p", Next()),
                Permission.Read,
                ResourceKind.Topic,
                LongName("q", 0)),
            IsRemoved: false)),
        [Opcode.ListRules] = () => Many(16, new ListRulesRequest(null, int.MaxValue)),
        [Opcode.TestRule] = () => Many(16, new TestRuleRequest(
            "user:" + LongName("p", 1), Permission.Read, ResourceKind.Topic, LongName("q", 0))),
    };

    /// <summary>A frame with a request.</summary>
    public static byte[] Of<T>(IPayload<T> request)
        where T : IPayload<T>
    {
        var body = new ArrayBufferWriter<byte>();
        request.Write(new PayloadWriter(body));
        return BoundPeer.Frame(OpcodeOf(typeof(T)), body.WrittenSpan);
    }

    private static Opcode OpcodeOf(Type request) => (Opcode)request.GetProperty(nameof(Opcode))!.GetValue(null)!;

    private static byte[][] Many<T>(int count, IPayload<T> request)
        where T : IPayload<T> => [.. Enumerable.Repeat(Of(request), count)];

    private static string LongName(string kind, int number) =>
        kind + number.ToString("D10").PadLeft(NameRules.MaxLength - kind.Length, '0');

    private static TopicSettings Queues(int count) => new() { QueueCount = count };

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

    private byte[] Commit(string group, string? metadata, int queues) => Of(new CommitOffsetsRequest(
        group,
        Guid.Empty,
        [.. plant.WideKeys.Take(queues).Select(queue =>
            new OffsetCommit(queue, GroupGeneration.None, new QueueOffset(0), -1, metadata))]));

    private int Next() => Interlocked.Increment(ref _turn);
}

/// <summary>For each route of the admin port, by method and pattern: the path and the body with the most of
/// both.</summary>
internal static class BoundRoutes
{
    private static readonly string Large = $"{{\"messages\":[{{\"body\":\"{new string('x', 3_500_000)}\"}}]}}";

    public static IReadOnlyDictionary<string, (string Path, string? Body)> All { get; } =
        new Dictionary<string, (string, string?)>
        {
            ["GET /"] = ("/", null),
            ["GET /health/live"] = ("/health/live", null),
            ["GET /health/ready"] = ("/health/ready", null),
            ["GET /stats"] = ("/stats", null),
            ["GET /metrics"] = ("/metrics", null),
            ["GET /api/v1/openapi.json"] = ("/api/v1/openapi.json", null),
            ["GET /api/v1/broker"] = ("/api/v1/broker", null),
            ["GET /api/v1/stats"] = ("/api/v1/stats", null),
            ["GET /api/v1/live"] = ("/api/v1/live", null),
            ["GET /api/v1/quotas"] = ("/api/v1/quotas", null),
            ["PUT /api/v1/quotas"] = (
                "/api/v1/quotas", "{\"kind\":\"client\",\"name\":\"h\",\"produceBytesPerSecond\":1000000000}"),
            ["DELETE /api/v1/quotas"] = ("/api/v1/quotas?kind=client&name=h", null),
            ["GET /api/v1/groups"] = ("/api/v1/groups?limit=1000", null),
            ["GET /api/v1/groups/{group}"] = ($"/api/v1/groups/{BoundPlant.Group}", null),
            ["POST /api/v1/groups/{group}/reset"] = (
                "/api/v1/groups/http/reset", $"{{\"topic\":\"{BoundPlant.Wide}\",\"to\":\"end\"}}"),
            ["DELETE /api/v1/groups/{group}"] = ("/api/v1/groups/http", null),
            ["GET /api/v1/topics"] = ("/api/v1/topics?limit=1000", null),
            ["POST /api/v1/topics"] = ("/api/v1/topics", "{\"topic\":\"http\",\"settings\":{\"queueCount\":1000}}"),
            ["GET /api/v1/topics/{topic}"] = ($"/api/v1/topics/{BoundPlant.Wide}", null),
            ["PATCH /api/v1/topics/{topic}"] = (
                $"/api/v1/topics/{BoundPlant.Wide}", $"{{\"queueCount\":{BoundPlant.WideQueues}}}"),
            ["DELETE /api/v1/topics/{topic}"] = ("/api/v1/topics/http", null),
            ["PATCH /api/v1/topics/{topic}/queues"] = (
                $"/api/v1/topics/{BoundPlant.Wide}/queues", "{\"readable\":true}"),
            ["GET /api/v1/topics/{topic}/offsets"] = ($"/api/v1/topics/{BoundPlant.Wide}/offsets", null),
            ["POST /api/v1/topics/{topic}/messages"] = ($"/api/v1/topics/{BoundPlant.Sunk}/messages", Large),
            ["GET /api/v1/topics/{topic}/queues/{queue}/messages"] = (
                $"/api/v1/topics/{BoundPlant.Large}/queues/0/messages?maxBytes=8388608&limit=1000", null),
            ["GET /api/v1/topics/{topic}/queues/{queue}/messages/{offset}"] = (
                $"/api/v1/topics/{BoundPlant.Large}/queues/0/messages/0", null),
            ["GET /api/v1/topics/{topic}/messages/latest"] = (
                $"/api/v1/topics/{BoundPlant.Large}/messages/latest?count=100", null),
            ["GET /api/v1/topics/{topic}/messages/by-key"] = (
                $"/api/v1/topics/{BoundPlant.Large}/messages/by-key?key=key&limit=100", null),
        };

    /// <summary>A request of its own connection.</summary>
    public static byte[] Of(string route, string host)
    {
        (string path, string? body) = All[route];
        string method = route.Split(' ')[0];
        string head = $"{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
            + $"Content-Length: {body?.Length ?? 0}\r\n\r\n{body}";
        return Encoding.ASCII.GetBytes(head);
    }
}
