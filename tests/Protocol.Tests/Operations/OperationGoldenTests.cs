namespace EQueue.Protocol.Tests.Operations;

/// <summary>
/// The bytes of every operation, field by field as docs/protocol.md has them. They never change within a version.
/// </summary>
public sealed class OperationGoldenTests
{
    private const string IdBytes = "00112233445566778899aabbccddeeff";

    private static readonly Guid Id = Guid.Parse("00112233-4455-6677-8899-aabbccddeeff");
    private static readonly GroupGeneration Grant = new((2L << 32) + 3);
    private static readonly QueueKey Queue = new(0, new QueueId(5));

    [Fact]
    public void GivenHello_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(
            new HelloRequest
            {
                Features = 3,
                ClientInstanceId = Id,
                ClientName = "c",
                ClientVersion = "v",
                Credentials = new byte[] { 0xFF },
                MaxFrameBytes = 1 << 24,
            },
            "45515545 0100 0100 0300000000000000" + IdBytes + "0100 63 0100 76 0000 0000 01000000 ff 00000001");
        Holds(
            new HelloResponse
            {
                Version = 1,
                Operations = [new OperationVersion(Opcode.Produce, 0, 0)],
                StoreId = Id,
                BrokerId = Id,
                Incarnation = 7,
                BrokerVersion = "b",
                MaxFrameBytes = 8 << 20,
                MaxMessageBytes = 4 << 20,
                MaxBatchBytes = (4 << 20) + (64 << 10),
                SequenceWindow = 16,
                ServerTimeMs = 1,
            },
            "0100 0000000000000000 01000000 1f 00 00" + IdBytes + IdBytes
            + "0700000000000000 0100 62 00008000 00004000 00004100 1000 0100000000000000");
    }

    [Fact]
    public void GivenTheHistoryOfALog_WhenWritten_ThenTheBytesAreThose()
    {
        var history = new LogHistory([new HistoryEpoch(new HistoryMark(2, 0xA1B2C3D4), 5)]);
        Holds(
            new CheckHistoryRequest(history, [new HistoryPlace(Queue, new QueueOffset(7))]),
            "01000000 02000000 d4c3b2a1 0500000000000000 01000000 0000 05000000 0700000000000000");
        Holds(
            new CheckHistoryResponse(history, [new QueueOffset(-1)]),
            "01000000 02000000 d4c3b2a1 0500000000000000 01000000 ffffffffffffffff");
    }

    [Fact]
    public void GivenTopicOperations_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(new CreateTopicRequest("t", new TopicSettings { QueueCount = 4 }), "0100 74 01000000 04000000");
        Holds(new AlterTopicRequest("t", TopicSettings.None), "0100 74 00000000");
        Holds(
            new AlterQueuesRequest("t", [3, 5], QueueState.Writable | QueueState.Readable, QueueState.Readable),
            "0100 74 02000000 03000000 05000000 0300 0200");
        Holds(
            new AlterQueuesRequest("t", null, QueueState.Writable, QueueState.None), "0100 74 ffffffff 0100 0000");
        Holds(new DeleteTopicRequest("t"), "0100 74");
        Holds(new DescribeTopicRequest("t"), "0100 74");
        Holds(new ListTopicsRequest(null, 10), "ffff 0a000000");
        Holds(
            new ListTopicsResponse([new TopicListing("t", new TopicId(Id), 4)], true),
            "01000000 0100 74" + IdBytes + "04000000 01");
        Holds(
            new TopicDescription(
                "t",
                new TopicId(Id),
                1,
                TopicSettings.None,
                [
                    new QueueDescription(
                        2,
                        0,
                        new QueueId(5),
                        QueueState.Readable | QueueState.Writable,
                        new QueueOffset(6),
                        new QueueOffset(9),
                        10,
                        11),
                ]),
            "0100 74" + IdBytes + "0100000000000000 00000000 01000000 02000000 0000 0300 05000000"
            + "0600000000000000 0900000000000000 0a00000000000000 0b00000000000000");
    }

    [Fact]
    public void GivenEverySetting_WhenWritten_ThenTheBytesAreThose() => Holds(
        new TopicSettings
        {
            QueueCount = 4,
            RetentionAge = TimeSpan.FromSeconds(1),
            RetentionBytes = -1,
            RetentionCount = 5,
            MaxMessageBytes = 65_536,
            MaxBacklogMessages = 7,
            MaxBacklogBytes = 8,
            BacklogPolicy = BacklogPolicy.DropOldest,
            BacklogGroups = "a,b",
        },
        "ff010000 04000000 e803000000000000 ffffffffffffffff 0500000000000000 00000100"
        + "0700000000000000 0800000000000000 02 0300 612c62");

    [Fact]
    public void GivenRoute_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(new RouteRequest(["t"], true), "01000000 0100 74 01");
        Holds(
            new RouteResponse(
                [new BrokerAddress(Id, "h", 9490)],
                [
                    new TopicRoute(
                        ErrorCode.None,
                        "t",
                        new TopicId(Id),
                        4 << 20,
                        [new QueueRoute(0, 0, QueueState.Readable | QueueState.Writable, new QueueId(5), 2, 0)]),
                ]),
            "01000000" + IdBytes + "0100 68 1225 01000000 0000 0100 74" + IdBytes
            + "00004000 01000000 00000000 0000 0300 05000000 02000000 0000");
    }

    [Fact]
    public void GivenTheLeaderOfACluster_WhenWritten_ThenTheBytesAreThose()
    {
        var leader = new WatchLeaderResponse(7, "a:1", ["a:1", "b:2"]);
        Holds(new WatchLeaderRequest(6, TimeSpan.FromSeconds(10)), "06000000 10270000");
        Holds(leader, "07000000 0300 613a31 02000000 0300 613a31 0300 623a32");
        Holds(
            new NotLeaderDetail(new ErrorDetail(null, TimeSpan.FromMilliseconds(100)), leader),
            "ffff 64000000 07000000 0300 613a31 02000000 0300 613a31 0300 623a32");
        Assert.Equal(1UL, HelloFeatures.Cluster);
        Assert.DoesNotContain(OperationVersions.All, static one => one.Opcode == Opcode.WatchLeader);
    }

    [Fact]
    public void GivenTheAnswerOfANodeThatDoesNotLead_WhenMadeAnException_ThenItSaysWhatTheNodeSaid()
    {
        var detail = new NotLeaderDetail(
            new ErrorDetail("b:2 leads.", TimeSpan.FromMilliseconds(100)), new WatchLeaderResponse(7, "b:2", ["b:2"]));
        EQueueException told = ErrorDetail.ToException(ErrorCode.NotLeader, OperationCase.Encode(detail));
        Assert.Equal(
            (ErrorCode.NotLeader, "b:2 leads.", TimeSpan.FromMilliseconds(100), true),
            (told.Code, told.Message, told.RetryAfter, told.IsRetriable));

        // The short body of every other error serves as well, and bytes that are neither leave the code's own words.
        Assert.Equal("no", ErrorDetail.ToException(
            ErrorCode.NotLeader, OperationCase.Encode(new ErrorDetail("no", TimeSpan.Zero))).Message);
        Assert.Equal(
            ErrorCodes.Describe(ErrorCode.NotLeader) + ".",
            ErrorDetail.ToException(ErrorCode.NotLeader, [1, 2, 3]).Message);
    }

    [Fact]
    public void GivenProducerOperations_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(new InitProducerRequest(null, ProducerSession.None), "ffff ffffffffffffffff ffff");
        Holds(new InitProducerResponse(new ProducerSession(7, 1)), "0700000000000000 0100");

        byte[] request = new byte[ProduceRequestHeader.Size];
        new ProduceRequestHeader(Durability.Durable, 1_000, 0, 1).Write(request);
        Same("02 00 0000 e8030000 0000000000000000 01000000", request);

        byte[] batch = new byte[ProduceBatchHeader.Size];
        new ProduceBatchHeader(new QueueId(5), 0, -1, 0x8000_0000, 61).Write(batch);
        Same("05000000 0000 0000 ffffffff 00000080 3d000000", batch);

        byte[] answer = new byte[ProduceResponse.SizeOf(1)];
        ProduceResponse.WriteHeader(answer, 0, 1);
        new ProduceResult(ErrorCode.DuplicateSequence, Durability.Durable, 2, new QueueOffset(9), 1, 0)
            .Write(answer.AsSpan(ProduceResponse.HeaderSize));
        Same("00000000 01000000 3500 02 00 02000000 0900000000000000 0100000000000000 00000000", answer);
    }

    [Fact]
    public void GivenFetch_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(
            new FetchRequest
            {
                SessionId = 1,
                Sequence = 2,
                MaxWaitMs = 500,
                Queues = [new FetchQueue(Queue, new QueueOffset(9), -1, 1 << 20, uint.MaxValue, new QueueOffset(-1))],
                Removed = [new QueueKey(0, new QueueId(6))],
            },
            "01000000 02000000 01000000 00001000 f4010000 00"
            + "01000000 0000 05000000 0900000000000000 ffffffff 00001000 ffffffff ffffffffffffffff"
            + "01000000 0000 06000000");

        byte[] head = new byte[FetchResponseHeader.Size];
        new FetchResponseHeader(1, 2, 0, 1).Write(head);
        Same("01000000 02000000 00000000 01000000", head);

        byte[] queue = new byte[FetchedQueueHeader.Size];
        new FetchedQueueHeader(
            new QueueId(5),
            0,
            ErrorCode.UnknownQueue,
            new QueueOffset(1),
            new QueueOffset(9),
            new QueueOffset(2),
            -1,
            0)
            .Write(queue);
        Same(
            "05000000 0000 2100 0100000000000000 0900000000000000 0200000000000000 ffffffff 00000000",
            queue);
        Holds(
            new FindOffsetsRequest([new OffsetQuestion(Queue, OffsetQuestion.Begin)]),
            "01000000 0000 05000000 feffffffffffffff");
        Holds(
            new FindOffsetsResponse([new OffsetAnswer(ErrorCode.UnknownQueue, new QueueOffset(-1))]),
            "01000000 2100 ffffffffffffffff");
        Holds(
            new FindByKeyRequest
            {
                Queue = Queue,
                Key = new byte[] { 0x6B },
                From = new QueueOffset(9),
                MaxCount = 10,
                MaxBytes = 1 << 20,
            },
            "0000 05000000 01000000 6b 0900000000000000 ffffffffffffffff 0a000000 00001000");
        Holds(
            new FindByKeyResponse(
                new QueueOffset(1), new QueueOffset(9), new QueueOffset(8), 256, 2, [new QueueOffset(3)]),
            "0100000000000000 0900000000000000 0800000000000000 0001000000000000 0200000000000000"
            + "01000000 0300000000000000");
    }

    [Fact]
    public void GivenGroupOperations_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(
            new CommitOffsetsRequest("g", Id, [new OffsetCommit(Queue, Grant, new QueueOffset(9), 2, "a")]),
            "0100 67" + IdBytes
            + "01000000 0000 05000000 0300000002000000 0900000000000000 02000000 0100 61");
        Holds(new CommitOffsetsResponse([ErrorCode.None, ErrorCode.UnknownQueue]), "02000000 0000 2100");
        Holds(new ReadOffsetsRequest("g", null), "0100 67 ffffffff");
        Holds(
            new ReadOffsetsResponse([new CommittedOffset(Queue, new QueueOffset(-1), -1, null)]),
            "01000000 0000 05000000 ffffffffffffffff ffffffff ffff");
        Holds(
            new GroupHeartbeatRequest
            {
                Group = "g",
                Member = Id,
                SessionTimeout = TimeSpan.FromSeconds(10),
                Subscriptions = [new TopicSubscription("t", ["a"])],
            },
            "0100 67" + IdBytes + "00000000 0000000000000000 ffff 10270000 00000000 00000000 00"
            + "01000000 0100 74 01000000 0100 61 ffffffff");
        Holds(
            new GroupHeartbeatRequest
            {
                Group = "g",
                Member = Id,
                Sequence = 7,
                Generation = Grant,
                InstanceId = "i",
                ReleaseTimeout = TimeSpan.FromSeconds(60),
                MaxWait = TimeSpan.FromSeconds(10),
                IsBroadcast = true,
                Owned = [new OwnedQueue(Queue, Grant)],
            },
            "0100 67" + IdBytes + "07000000 0300000002000000 0100 69 00000000 60ea0000 10270000 01 ffffffff"
            + "01000000 0000 05000000 0300000002000000");
        Holds(
            new GroupHeartbeatResponse
            {
                Generation = Grant,
                SessionTimeout = TimeSpan.FromSeconds(30),
                ReconnectGrace = TimeSpan.FromSeconds(1),
                Pending = 4,
                Assignment = [new AssignedTopic("t", [new AssignedQueue(2, Queue, Grant)])],
            },
            "0300000002000000 00000000 30750000 e8030000 04000000"
            + "01000000 0100 74 01000000 02000000 0000 05000000 0300000002000000");
        Holds(
            new GroupHeartbeatResponse
            {
                NextHeartbeat = TimeSpan.FromSeconds(3),
                ReconnectGrace = Timeout.InfiniteTimeSpan,
            },
            "0000000000000000 b80b0000 00000000 ffffffff 00000000 ffffffff");
        Holds(new GroupLeaveRequest("g", Id, true), "0100 67" + IdBytes + "01");
    }

    [Fact]
    public void GivenGroupAdministration_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(new ListGroupsRequest("g", 10), "0100 67 0a000000");
        Holds(
            new ListGroupsResponse([new GroupListing("g", GroupKind.Broadcast, GroupState.Stable, 2)], true),
            "01000000 0100 67 01 03 02000000 01");
        Holds(new DescribeGroupRequest("g", null, true), "0100 67 ffff 01");
        Holds(
            new GroupDescription(
                GroupKind.Shared,
                GroupState.Moving,
                Grant,
                [
                    new MemberDescription(
                        Id,
                        "i",
                        "c",
                        "a",
                        TimeSpan.FromSeconds(30),
                        TimeSpan.FromSeconds(1),
                        [new TopicSubscription("t", [])],
                        3,
                        1),
                ],
                [
                    new GroupQueueDescription
                    {
                        Topic = "t",
                        Number = 2,
                        Queue = Queue,
                        Owner = 0,
                        Committed = new QueueOffset(6),
                        CommittedMs = 10,
                        Start = new QueueOffset(1),
                        End = new QueueOffset(9),
                        Lag = 3,
                    },
                ]),
            "00 02 0300000002000000 01000000" + IdBytes + "0100 69 0100 63 0100 61 30750000 e8030000"
            + "01000000 0100 74 00000000 03000000 01000000"
            + "01000000 0100 74 02000000 0000 05000000 00000000 ffffffff ffff 0600000000000000 0a00000000000000"
            + "0100000000000000 0900000000000000 0300000000000000 ffffffffffffffff");
        Holds(
            new ResetOffsetsRequest
            {
                Group = "g",
                Topic = "t",
                Numbers = [2],
                To = ResetTarget.ShiftBy,
                Value = -1,
                IsPreview = true,
            },
            "0100 67 ffff 0100 74 01000000 02000000 04 ffffffffffffffff 01");
        Holds(new ResetOffsetsRequest { Group = "g" }, "0100 67 ffff ffff ffffffff 00 0000000000000000 00");
        Holds(
            new ResetOffsetsResponse(
                [new ResetQueue("t", 2, ErrorCode.InvalidArgument, new QueueOffset(-1), new QueueOffset(9))]),
            "01000000 0100 74 02000000 0900 ffffffffffffffff 0900000000000000");
        Holds(new DeleteGroupRequest("g", "t"), "0100 67 0100 74");
    }

    [Fact]
    public void GivenWhatIsLeft_WhenWritten_ThenTheBytesAreThose()
    {
        Holds(Done.Value, "");
        Holds(new StatsRequest(), "");
        Holds(new StatsResponse([new StatsFigure("a", 7)]), "01000000 0100 61 0700000000000000");
        Holds(
            new SetQuotaRequest(new Quota(QuotaKind.Topic, "t", 1, 2, 3)),
            "02 0100 74 0100000000000000 0200000000000000 0300000000000000");
        Holds(new ListQuotasRequest(), "");
        Holds(
            new ListQuotasResponse([new Quota(QuotaKind.Client, "*", 0, 0, 5)]),
            "01000000 01 0100 2a 0000000000000000 0000000000000000 0500000000000000");
        Holds(new ErrorDetail("e", TimeSpan.FromMilliseconds(100)), "0100 65 64000000");
    }

    [Fact]
    public void GivenNoMagic_WhenHelloIsRead_ThenItIsRefused()
    {
        byte[] bytes = OperationCase.Encode(new HelloRequest());
        bytes[0] ^= 1;
        Assert.False(Payload.TryRead<HelloRequest>(bytes, out _));
    }

    private static void Holds<T>(T value, string expected)
        where T : IPayload<T>
    {
        byte[] bytes = OperationCase.Encode(value);
        Same(expected, bytes);
        Assert.True(Payload.TryRead(bytes, out T again));
        Assert.Equal(bytes, OperationCase.Encode(again));
    }

    private static void Same(string expected, byte[] bytes) =>
        Assert.Equal(expected.Replace(" ", ""), Convert.ToHexStringLower(bytes));
}
