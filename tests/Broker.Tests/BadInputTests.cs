using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker.Tests;

/// <summary>
/// Whatever comes in: a typed error or a closed connection, nothing written, and the others are served.
/// </summary>
public sealed class BadInputTests : IAsyncLifetime
{
    private TestBroker _broker = null!;
    private TestPeer _peer = null!;
    private TestPeer _other = null!;
    private QueueId _queue;
    private long _staged;

    public static TheoryData<Opcode> OpcodesWithBodies =>
    [
        .. Enum.GetValues<Opcode>().Where(opcode => opcode
            is not (Opcode.Hello or Opcode.Stats or Opcode.WatchLeader)
            and (< Opcode.ListGroups or > Opcode.DeleteGroup)),
    ];

    public async ValueTask InitializeAsync()
    {
        _broker = await TestBroker.StartAsync();
        _peer = await _broker.ConnectAsync();
        _other = await _broker.ConnectAsync("other");
        _queue = (await _peer.CreateTopicAsync("orders")).Queues[0].Id;
        _staged = await _other.FigureAsync("store.stagedPosition");
    }

    public async ValueTask DisposeAsync()
    {
        await _peer.DisposeAsync();
        await _other.DisposeAsync();
        await _broker.DisposeAsync();
    }

    [Fact]
    public async Task GivenAnUnknownOpcode_WhenSent_ThenUnknownOperationIsAnsweredAndTheConnectionGoesOn()
    {
        Assert.Equal(ErrorCode.UnknownOperation, await _peer.RefusalAsync((Opcode)200, TestPeer.Bytes(1, 2, 3)));
        Assert.Equal(ErrorCode.UnknownOperation, await _peer.RefusalAsync((Opcode)200, TestPeer.Bytes(), version: 9));
        await AssertNothingHappenedAsync(_peer);
    }

    [Fact]
    public async Task GivenAWrongVersion_WhenSent_ThenUnsupportedVersionIsAnsweredAndTheConnectionGoesOn()
    {
        Assert.Equal(
            ErrorCode.UnsupportedVersion, await _peer.RefusalAsync(Opcode.Produce, TestPeer.Bytes(), version: 1));
        await AssertNothingHappenedAsync(_peer);
    }

    [Theory]
    [MemberData(nameof(OpcodesWithBodies))]
    public async Task GivenABodyThatIsNone_WhenSent_ThenMalformedRequestIsAnsweredAndTheConnectionGoesOn(Opcode opcode)
    {
        Assert.Equal(ErrorCode.MalformedRequest, await _peer.RefusalAsync(opcode, TestPeer.Bytes(0xFE, 0xFF, 1)));
        Assert.Equal(ErrorCode.MalformedRequest, await _peer.RefusalAsync(opcode, TestPeer.Bytes(new byte[5_000])));
        await AssertNothingHappenedAsync(_peer);
    }

    [Fact]
    public async Task GivenBytesBehindAStatsRequest_WhenSent_ThenMalformedRequestIsAnswered() =>
        Assert.Equal(ErrorCode.MalformedRequest, await _peer.RefusalAsync(Opcode.Stats, TestPeer.Bytes(1)));

    [Theory]
    [InlineData(0u)]
    [InlineData(15u)]
    [InlineData(0x7FFF_FFFFu)]
    [InlineData(0x8000_0000u)]
    [InlineData(0xFFFF_FFFFu)]
    public async Task GivenAnImpossibleLength_WhenSent_ThenTheConnectionIsClosed(uint length)
    {
        using RawConnection raw = await RawConnection.ConnectAsync(_broker.EndPoint);
        await raw.SayHelloAsync();
        byte[] frame = RawConnection.Frame(Opcode.Stats, []);
        BitConverter.TryWriteBytes(frame, length);
        await raw.SendAsync(frame);
        Assert.True(await raw.IsEndedByBrokerAsync());
        await AssertNothingHappenedAsync(_peer);
    }

    [Fact]
    public async Task GivenAFrameCutShort_WhenTheStreamEnds_ThenTheConnectionIsClosed()
    {
        using RawConnection raw = await RawConnection.ConnectAsync(_broker.EndPoint);
        await raw.SayHelloAsync();
        byte[] frame = RawConnection.Frame(
            Opcode.Produce, Messages.Produce(Durability.Written, (_queue, Messages.Batch("a"))).WrittenSpan);
        await raw.SendAsync(frame[..^5]);
        raw.EndSending();
        Assert.True(await raw.IsEndedByBrokerAsync());
        await AssertNothingHappenedAsync(_peer);
    }

    [Fact]
    public async Task GivenGarbage_WhenSent_ThenTheConnectionIsClosed()
    {
        using RawConnection raw = await RawConnection.ConnectAsync(_broker.EndPoint);
        await raw.SendAsync("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"u8.ToArray());
        Assert.True(await raw.IsEndedByBrokerAsync());
        await AssertNothingHappenedAsync(_peer);
    }

    [Fact]
    public async Task GivenAFrameBeforeHello_WhenSent_ThenHelloRequiredIsAnsweredAndTheConnectionIsClosed()
    {
        using RawConnection raw = await RawConnection.ConnectAsync(_broker.EndPoint);
        await raw.SendAsync(RawConnection.Frame(Opcode.Stats, []));
        Assert.Equal((Opcode.Stats, ErrorCode.HelloRequired), await raw.ReceiveAsync());
        Assert.True(await raw.IsEndedByBrokerAsync());
        await AssertNothingHappenedAsync(_peer);
    }

    [Fact]
    public async Task GivenAnAnswerThatNobodyAskedFor_WhenSent_ThenTheConnectionIsClosed()
    {
        using RawConnection raw = await RawConnection.ConnectAsync(_broker.EndPoint);
        await raw.SayHelloAsync();
        await raw.SendAsync(RawConnection.Frame(Opcode.Stats, [], flags: 1));
        Assert.Equal((Opcode.Stats, ErrorCode.MalformedRequest), await raw.ReceiveAsync());
        Assert.True(await raw.IsEndedByBrokerAsync());
    }

    [Theory]
    [InlineData("magic", ErrorCode.MalformedRequest)]
    [InlineData("version", ErrorCode.UnsupportedVersion)]
    [InlineData("mechanism", ErrorCode.AuthenticationFailed)]
    [InlineData("tenant", ErrorCode.NotAuthorized)]
    [InlineData("name", ErrorCode.InvalidArgument)]
    [InlineData("frame", ErrorCode.InvalidArgument)]
    public async Task GivenAHelloThatDoesNotFit_WhenSent_ThenItIsRefusedAndTheConnectionIsClosed(
        string what, ErrorCode expected)
    {
        HelloRequest hello = TestPeer.NewHello(what == "name" ? new string('x', 300) : "x");
        hello = what switch
        {
            "version" => hello with { MinVersion = 2, MaxVersion = 9 },
            "mechanism" => hello with { Mechanism = "PLAIN" },
            "tenant" => hello with { Tenant = "acme" },
            "frame" => hello with { MaxFrameBytes = 100 },
            _ => hello,
        };
        byte[] frame = RawConnection.Frame(Opcode.Hello, TestPeer.Encode(hello).WrittenSpan);
        if (what == "magic")
            frame[FrameHeader.Size] ^= 1;
        using RawConnection raw = await RawConnection.ConnectAsync(_broker.EndPoint);
        await raw.SendAsync(frame);
        Assert.Equal((Opcode.Hello, expected), await raw.ReceiveAsync());
        Assert.True(await raw.IsEndedByBrokerAsync());
    }

    [Fact]
    public async Task GivenASecondHello_WhenSent_ThenItIsRefusedAndTheConnectionGoesOn()
    {
        Assert.Equal(
            ErrorCode.MalformedRequest, await _peer.RefusalAsync(
                Opcode.Hello, TestPeer.Encode(TestPeer.NewHello("again"))));
        await AssertNothingHappenedAsync(_peer);
    }

    [Fact]
    public async Task GivenABatchWithAWrongCrc_WhenProduced_ThenCorruptBatchIsAnsweredAndNothingIsWritten()
    {
        byte[] batch = Messages.Batch("a");
        batch[^1] ^= 1;
        await AssertRefusedAsync(ErrorCode.CorruptBatch, _queue, batch);
    }

    [Fact]
    public async Task GivenBytesThatAreNoBatch_WhenProduced_ThenInvalidBatchIsAnsweredAndNothingIsWritten()
    {
        byte[] batch = Messages.Batch("a");
        batch[RecordBatchLayout.Magic] = 1;
        await AssertRefusedAsync(ErrorCode.InvalidBatch, _queue, batch);
        await AssertRefusedAsync(ErrorCode.InvalidBatch, _queue, [1, 2, 3]);
        await AssertRefusedAsync(ErrorCode.InvalidBatch, _queue, [.. Messages.Batch("a"), 0]);
    }

    [Theory]
    [InlineData(0u)]
    [InlineData(9_999u)]
    [InlineData(uint.MaxValue)]
    public async Task GivenAQueueThatDoesNotExist_WhenProduced_ThenUnknownQueueIsAnsweredAndNothingIsWritten(
        uint queue) =>
        await AssertRefusedAsync(ErrorCode.UnknownQueue, new QueueId(queue), Messages.Batch("a"));

    [Fact]
    public async Task GivenBatchesThatDoNotFillTheFrame_WhenProduced_ThenMalformedRequestIsAnsweredAndNothingIsWritten()
    {
        FrameBuffer body = Messages.Produce(
            new ProduceRequestHeader(
                Durability.Written, 0, 0, 1), (_queue, Messages.Batch("a")), (_queue, Messages.Batch("b")));
        Assert.Equal(ErrorCode.MalformedRequest, await _peer.RefusalAsync(Opcode.Produce, body));
        body = Messages.Produce(new ProduceRequestHeader(Durability.Written, 0, 0, 2), (_queue, Messages.Batch("a")));
        Assert.Equal(ErrorCode.MalformedRequest, await _peer.RefusalAsync(Opcode.Produce, body));
        body = Messages.Produce(new ProduceRequestHeader(Durability.Written, 0, 5, 1), (_queue, Messages.Batch("a")));
        Assert.Equal(ErrorCode.InvalidArgument, await _peer.RefusalAsync(Opcode.Produce, body));
        await AssertNothingHappenedAsync(_peer);
    }

    [Theory]
    [InlineData("")]
    [InlineData(".")]
    [InlineData("..")]
    [InlineData("../etc/passwd")]
    [InlineData("a/b")]
    [InlineData("a\\b")]
    [InlineData("a b")]
    [InlineData("a\0b")]
    [InlineData("\u00fcber")]
    public async Task GivenANameThatIsNone_WhenUsed_ThenInvalidNameIsAnsweredAndNothingIsWritten(string name)
    {
        Assert.Equal(
            ErrorCode.InvalidName, (await _peer.RefusalAsync(new CreateTopicRequest(name, TopicSettings.None))).Code);
        RouteResponse route = await _peer.InvokeAsync(new RouteRequest([name], AutoCreate: true));
        Assert.Equal(ErrorCode.InvalidName, Assert.Single(route.Topics).Error);
        Assert.Equal(ErrorCode.InvalidName, (await _peer.RefusalAsync(new ReadOffsetsRequest(name + "/", null))).Code);
        Assert.Equal(
            ErrorCode.InvalidName, (await _peer.RefusalAsync(new CommitOffsetsRequest(name, Guid.Empty, []))).Code);
        Assert.Equal(
            ErrorCode.InvalidName, (await _peer.RefusalAsync(new GroupLeaveRequest(name, Guid.NewGuid(), false))).Code);
        Assert.Equal(ErrorCode.UnknownTopic, (await _peer.RefusalAsync(new DescribeTopicRequest(name))).Code);
        await AssertNothingHappenedAsync(_peer);
    }

    [Fact]
    public async Task GivenATopicThatDoesNotExist_WhenUsed_ThenUnknownTopicIsAnswered()
    {
        Assert.Equal(ErrorCode.UnknownTopic, (await _peer.RefusalAsync(new DescribeTopicRequest("none"))).Code);
        Assert.Equal(ErrorCode.UnknownTopic, (await _peer.RefusalAsync(new DeleteTopicRequest("none"))).Code);
        Assert.Equal(
            ErrorCode.UnknownTopic, (await _peer.RefusalAsync(new AlterTopicRequest("none", TopicSettings.None))).Code);
        RouteResponse route = await _peer.InvokeAsync(new RouteRequest(["none"], AutoCreate: false));
        Assert.Equal(ErrorCode.UnknownTopic, Assert.Single(route.Topics).Error);
        await AssertNothingHappenedAsync(_peer);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(-1)]
    [InlineData(long.MaxValue)]
    public async Task GivenAnOffsetOutOfRange_WhenFetched_ThenItIsSaidWithTheRange(long offset)
    {
        Fetched fetched = await _peer.FetchAsync(Messages.Open(60_000, Messages.From(_queue, offset)));
        FetchedQueueHeader header = Assert.Single(fetched.Queues).Header;
        Assert.Equal(ErrorCode.OffsetOutOfRange, header.Error);
        Assert.Equal(new QueueOffset(0), header.Start);
        Assert.Equal(new QueueOffset(0), header.VisibleEnd);
    }

    [Fact]
    public async Task GivenAHugeFrameAnnouncedAndNeverSent_WhenOthersAsk_ThenTheyAreServed()
    {
        using RawConnection raw = await RawConnection.ConnectAsync(_broker.EndPoint);
        await raw.SayHelloAsync();
        byte[] frame = RawConnection.Frame(Opcode.Produce, []);
        BitConverter.TryWriteBytes(frame, 8 << 20);
        await raw.SendAsync(frame);
        await AssertNothingHappenedAsync(_peer);
    }

    private async Task AssertRefusedAsync(ErrorCode expected, QueueId queue, byte[] batch)
    {
        ProduceResult result = Assert.Single(await _peer.ProduceAsync(Durability.Written, (queue, batch)));
        Assert.Equal(expected, result.Error);
        Assert.False(result.IsStored);
        await AssertNothingHappenedAsync(_peer);
    }

    private async Task AssertNothingHappenedAsync(TestPeer peer)
    {
        Assert.Equal(_staged, await _other.FigureAsync("store.stagedPosition"));
        Assert.Equal(_staged, await peer.FigureAsync("store.stagedPosition"));
    }
}
