namespace EQueue.Protocol.Tests.Operations;

/// <summary>Every body of the protocol that writes itself, with an arbitrary value of each.</summary>
public static class OperationCases
{
    public static readonly IReadOnlyList<OperationCase> All =
    [
        OperationCase.Of(r => new HelloRequest
        {
            MinVersion = (ushort)r.Next(),
            MaxVersion = (ushort)r.Next(),
            Features = (ulong)r.NextInt64(),
            ClientInstanceId = Id(r),
            ClientName = Text(r),
            ClientVersion = Text(r),
            Tenant = Text(r),
            Mechanism = Text(r),
            Credentials = Bytes(r),
            MaxFrameBytes = (uint)r.Next(),
        }),
        OperationCase.Of(HelloOf),
        OperationCase.Of(r => new AuthenticatedHello(HelloOf(r), r.Next(2) == 0, Bytes(r), Text(r))),
        OperationCase.Of(r => new CreateTopicRequest(Text(r), Settings(r))),
        OperationCase.Of(r => new AlterTopicRequest(Text(r), Settings(r))),
        OperationCase.Of(r => new AlterQueuesRequest(
            Text(r),
            r.Next(3) == 0 ? null : [.. Enumerable.Range(0, r.Next(4)).Select(_ => r.Next())],
            (QueueState)r.Next(4),
            (QueueState)r.Next(4))),
        OperationCase.Of(r => new DeleteTopicRequest(Text(r))),
        OperationCase.Of(r => new DescribeTopicRequest(Text(r))),
        OperationCase.Of(r => new ListTopicsRequest(NullableText(r), r.Next())),
        OperationCase.Of(r => new ListTopicsResponse(
            List(r, x => new TopicListing(Text(x), new TopicId(Id(x)), x.Next())), r.Next(2) == 0)),
        OperationCase.Of(r => new TopicDescription(
            Text(r),
            new TopicId(Id(r)),
            r.NextInt64(),
            Settings(r),
            List(r, x => new QueueDescription(
                x.Next(),
                (ushort)x.Next(),
                Queue(x),
                (QueueState)x.Next(4),
                Offset(x),
                Offset(x),
                x.NextInt64(),
                x.NextInt64())))),
        OperationCase.Of(r => new RouteRequest(List(r, Text), r.Next(2) == 0)),
        OperationCase.Of(r => new RouteResponse(
            List(r, x => new BrokerAddress(Id(x), Text(x), (ushort)x.Next())),
            List(r, x => new TopicRoute(
                (ErrorCode)x.Next(100),
                Text(x),
                new TopicId(Id(x)),
                (uint)x.Next(),
                List(x, y => new QueueRoute(
                    y.Next(), (ushort)y.Next(), (QueueState)y.Next(4), Queue(y), y.Next(), (ushort)y.Next())))))),
        OperationCase.Of(r => new WatchLeaderRequest(r.Next(), Time(r))),
        OperationCase.Of(Leader),
        OperationCase.Of(
            r => new InitProducerRequest(NullableText(r), new ProducerSession(r.NextInt64(), (short)r.Next()))),
        OperationCase.Of(r => new InitProducerResponse(new ProducerSession(r.NextInt64(), (short)r.Next()))),
        OperationCase.Of(r => new FetchRequest
        {
            SessionId = (uint)r.Next(),
            Sequence = (uint)r.Next(),
            MinBytes = r.Next(),
            MaxBytes = r.Next(),
            MaxWaitMs = r.Next(),
            Isolation = (FetchIsolation)r.Next(256),
            Queues = List(r, x => new FetchQueue(Key(x), Offset(x), x.Next(), x.Next(), (uint)x.Next(), Offset(x))),
            Removed = List(r, Key),
        }),
        OperationCase.Of(r => new FindOffsetsRequest(List(r, x => new OffsetQuestion(Key(x), x.NextInt64())))),
        OperationCase.Of(
            r => new FindOffsetsResponse(List(r, x => new OffsetAnswer((ErrorCode)x.Next(100), Offset(x))))),
        OperationCase.Of(r => new CheckHistoryRequest(
            History(r), List(r, x => new HistoryPlace(new QueueKey((ushort)x.Next(), Queue(x)), Offset(x))))),
        OperationCase.Of(r => new CheckHistoryResponse(History(r), List(r, Offset))),
        OperationCase.Of(r => new FindByKeyRequest
        {
            Queue = Key(r),
            Key = Bytes(r),
            From = Offset(r),
            To = Offset(r),
            MaxCount = r.Next(),
            MaxBytes = r.Next(),
        }),
        OperationCase.Of(r => new FindByKeyResponse(
            Offset(r), Offset(r), Offset(r), r.NextInt64(), r.NextInt64(), List(r, Offset))),
        OperationCase.Of(r => new SetQuotaRequest(QuotaOf(r))),
        OperationCase.Of(_ => new ListQuotasRequest()),
        OperationCase.Of(r => new ListQuotasResponse(List(r, QuotaOf))),
        OperationCase.Of(r => new CommitOffsetsRequest(
            Text(r),
            Id(r),
            List(r, x => new OffsetCommit(Key(x), Generation(x), Offset(x), x.Next(), NullableText(x))))),
        OperationCase.Of(r => new CommitOffsetsResponse(List(r, x => (ErrorCode)x.Next(100)))),
        OperationCase.Of(r => new ReadOffsetsRequest(Text(r), r.Next(2) == 0 ? null : List(r, Key))),
        OperationCase.Of(r => new ReadOffsetsResponse(List(r, Committed))),
        OperationCase.Of(r => new GroupHeartbeatRequest
        {
            Group = Text(r),
            Member = Id(r),
            Sequence = (uint)r.Next(),
            Generation = Generation(r),
            InstanceId = NullableText(r),
            SessionTimeout = Time(r),
            ReleaseTimeout = Time(r),
            MaxWait = Time(r),
            IsBroadcast = r.Next(2) == 0,
            Subscriptions = r.Next(2) == 0 ? null : List(r, Subscription),
            Owned = r.Next(2) == 0 ? null : List(r, x => new OwnedQueue(Key(x), Generation(x))),
        }),
        OperationCase.Of(r => new GroupHeartbeatResponse
        {
            Generation = Generation(r),
            NextHeartbeat = Time(r),
            SessionTimeout = Time(r),
            ReconnectGrace = Time(r),
            Pending = (uint)r.Next(),
            Assignment = r.Next(2) == 0
                ? null
                : List(r, x => new AssignedTopic(
                    Text(x), List(x, y => new AssignedQueue(y.Next(), Key(y), Generation(y))))),
        }),
        OperationCase.Of(r => new GroupLeaveRequest(Text(r), Id(r), r.Next(2) == 0)),
        OperationCase.Of(r => new ListGroupsRequest(NullableText(r), r.Next())),
        OperationCase.Of(r => new ListGroupsResponse(
            List(r, x => new GroupListing(Text(x), (GroupKind)x.Next(2), (GroupState)x.Next(4), (uint)x.Next())),
            r.Next(2) == 0)),
        OperationCase.Of(r => new DescribeGroupRequest(Text(r), NullableText(r), r.Next(2) == 0)),
        OperationCase.Of(r => new GroupDescription(
            (GroupKind)r.Next(2),
            (GroupState)r.Next(4),
            Generation(r),
            List(r, x => new MemberDescription(
                Id(x),
                NullableText(x),
                Text(x),
                Text(x),
                Time(x),
                Time(x),
                List(x, Subscription),
                (uint)x.Next(),
                (uint)x.Next())),
            List(r, x => new GroupQueueDescription
            {
                Topic = Text(x),
                Number = x.Next(),
                Queue = Key(x),
                Owner = x.Next(),
                Target = x.Next(),
                InstanceId = NullableText(x),
                Committed = Offset(x),
                CommittedMs = x.NextInt64(),
                Start = Offset(x),
                End = Offset(x),
                Lag = x.NextInt64(),
                LagMs = x.NextInt64(),
            }))),
        OperationCase.Of(r => new ResetOffsetsRequest
        {
            Group = Text(r),
            InstanceId = NullableText(r),
            Topic = NullableText(r),
            Numbers = r.Next(2) == 0 ? null : List(r, x => x.Next()),
            To = (ResetTarget)r.Next(256),
            Value = r.NextInt64(),
            IsPreview = r.Next(2) == 0,
        }),
        OperationCase.Of(r => new ResetOffsetsResponse(
            List(r, x => new ResetQueue(Text(x), x.Next(), (ErrorCode)x.Next(100), Offset(x), Offset(x))))),
        OperationCase.Of(r => new DeleteGroupRequest(Text(r), NullableText(r))),
        OperationCase.Of(_ => Done.Value),
        OperationCase.Of(_ => new StatsRequest()),
        OperationCase.Of(r => new StatsResponse(List(r, x => new StatsFigure(Text(x), x.NextInt64())))),
        .. SecurityCases.All,
        OperationCase.Of(ErrorOf),
        OperationCase.Of(r => new NotLeaderDetail(ErrorOf(r), Leader(r))),
    ];

    private static ErrorDetail ErrorOf(Random r) => new(NullableText(r), Time(r));

    private static WatchLeaderResponse Leader(Random r) => new(r.Next(), Text(r), List(r, Text));

    private static HelloResponse HelloOf(Random r) => new()
    {
        Version = (ushort)r.Next(),
        Features = (ulong)r.NextInt64(),
        Operations = List(r, x => new OperationVersion((Opcode)x.Next(256), (byte)x.Next(), (byte)x.Next())),
        StoreId = Id(r),
        BrokerId = Id(r),
        Incarnation = (ulong)r.NextInt64(),
        BrokerVersion = Text(r),
        MaxFrameBytes = (uint)r.Next(),
        MaxMessageBytes = (uint)r.Next(),
        MaxBatchBytes = (uint)r.Next(),
        SequenceWindow = (ushort)r.Next(),
        ServerTimeMs = r.NextInt64(),
    };

    private static Guid Id(Random random)
    {
        byte[] bytes = new byte[16];
        random.NextBytes(bytes);
        return new Guid(bytes);
    }

    internal static string Text(Random random) =>
        string.Concat(Enumerable.Range(0, random.Next(6)).Select(_ => "aZ9.-\u00e9\u4e16\ud83d\ude80"[random.Next(7)]));

    internal static string? NullableText(Random random) => random.Next(3) == 0 ? null : Text(random);

    internal static byte[] Bytes(Random random)
    {
        byte[] bytes = new byte[random.Next(20)];
        random.NextBytes(bytes);
        return bytes;
    }

    internal static T[] List<T>(Random random, Func<Random, T> make) =>
        [.. Enumerable.Range(0, random.Next(4)).Select(_ => make(random))];

    private static QueueId Queue(Random random) => new((uint)random.Next());

    private static QueueOffset Offset(Random random) => new(random.NextInt64());

    private static QueueKey Key(Random random) => new((ushort)random.Next(), Queue(random));

    private static CommittedOffset Committed(Random random) =>
        new(Key(random), Offset(random), random.Next(), NullableText(random));

    private static GroupGeneration Generation(Random random) => new(random.NextInt64());

    private static Quota QuotaOf(Random random) => new(
        (QuotaKind)random.Next(256), Text(random), random.NextInt64(), random.NextInt64(), random.NextInt64());

    private static TimeSpan Time(Random random) => TimeSpan.FromMilliseconds(random.Next());

    private static TopicSubscription Subscription(Random random) => new(Text(random), List(random, Text));

    private static TopicSettings Settings(Random random) => new()
    {
        QueueCount = Maybe(random, random.Next()),
        RetentionAge = Maybe(random, TimeSpan.FromMilliseconds(random.Next())),
        RetentionBytes = Maybe(random, random.NextInt64()),
        RetentionCount = Maybe(random, random.NextInt64()),
        MaxMessageBytes = Maybe(random, random.Next()),
        MaxBacklogMessages = Maybe(random, random.NextInt64()),
        MaxBacklogBytes = Maybe(random, random.NextInt64()),
        BacklogPolicy = Maybe(random, (BacklogPolicy)random.Next(256)),
        BacklogGroups = random.Next(2) == 0 ? null : "billing,audit",
    };

    private static T? Maybe<T>(Random random, T value)
        where T : struct =>
        random.Next(2) == 0 ? null : value;

    private static LogHistory History(Random r)
    {
        int epoch = 0;
        return new LogHistory(List(r, x => new HistoryEpoch(
            new HistoryMark(epoch += 1 + x.Next(5), (uint)x.Next()), x.NextInt64())));
    }
}
