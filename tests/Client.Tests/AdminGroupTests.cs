namespace EQueue.Client.Tests;

/// <summary>Groups as the client's administration sees and changes them, against a real broker.</summary>
public sealed class AdminGroupTests
{
    private static readonly ConsumerOptions ToTheEnd = new() { StopAtEnd = true };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenMoreGroupsThanOnePageHolds_WhenListed_ThenAllComeInOrder()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        EQueueAdmin admin = broker.Client.Admin;
        await admin.CreateTopicAsync("orders", cancellationToken: Token);
        string[] names = [.. Enumerable.Range(0, 1_003).Select(i => $"g{i:0000}")];
        await Task.WhenAll(names.Select(name =>
            admin.ResetGroupOffsetsAsync(name, ResetPosition.Begin, "orders", cancellationToken: Token).AsTask()));
        List<string> listed = [];
        await foreach (GroupListing group in admin.ListGroupsAsync(Token))
            listed.Add(group.Group);
        Assert.Equal(names, listed);
    }

    [Fact]
    public async Task GivenAGroupThatHasRead_WhenDescribedResetAndDeleted_ThenItReadsFromThere()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        EQueueAdmin admin = broker.Client.Admin;
        await SendAsync(broker, 10);
        Assert.Equal(10, (await ReadAsync(broker)).Count);
        GroupQueueDescription queue =
            Assert.Single((await admin.DescribeGroupAsync("g", cancellationToken: Token)).Queues);
        Assert.Equal(("orders", 10L, 0L, 0L), (queue.Topic, queue.Committed.Value, queue.Lag, queue.LagMs));

        IReadOnlyList<ResetQueue> preview = await admin.ResetGroupOffsetsAsync(
            "g", ResetPosition.By(-3), isPreview: true, cancellationToken: Token);
        Assert.Equal((10L, 7L), (preview[0].From.Value, preview[0].To.Value));
        Assert.Empty(await ReadAsync(broker));
        await admin.ResetGroupOffsetsAsync("g", ResetPosition.By(-3), cancellationToken: Token);
        queue = Assert.Single((await admin.DescribeGroupAsync("g", "orders", false, Token)).Queues);
        Assert.Equal((7L, 3L, -1L), (queue.Committed.Value, queue.Lag, queue.LagMs));
        Assert.Equal([7, 8, 9], await ReadAsync(broker));
        await admin.ResetGroupOffsetsAsync("g", ResetPosition.AtOffset(9), "orders", [0], cancellationToken: Token);
        Assert.Equal([9], await ReadAsync(broker));
        await admin.ResetGroupOffsetsAsync(
            "g", ResetPosition.AtTime(DateTimeOffset.UnixEpoch), "orders", cancellationToken: Token);
        Assert.Equal(10, (await ReadAsync(broker)).Count);

        await admin.DeleteGroupAsync("g", cancellationToken: Token);
        await RefusedAsync(ErrorCode.UnknownGroup, admin.DescribeGroupAsync("g", cancellationToken: Token).AsTask());
        Assert.Equal(10, (await ReadAsync(broker)).Count);
    }

    [Fact]
    public async Task GivenALiveMember_WhenResetOrDeleted_ThenGroupBusyIsThrownAndItGoesOn()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        EQueueAdmin admin = broker.Client.Admin;
        await SendAsync(broker, 3);
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["orders"]);
        await consumer.JoinAsync(Token);
        MemberDescription member =
            Assert.Single((await admin.DescribeGroupAsync("g", cancellationToken: Token)).Members);
        Assert.Equal(1u, member.OwnedCount);
        await RefusedAsync(
            ErrorCode.GroupBusy,
            admin.ResetGroupOffsetsAsync("g", ResetPosition.End, "orders", cancellationToken: Token).AsTask());
        await RefusedAsync(ErrorCode.GroupBusy, admin.DeleteGroupAsync("g", cancellationToken: Token).AsTask());
    }

    [Theory]
    [InlineData(0)]
    [InlineData(long.MaxValue)]
    public void GivenPositions_WhenWritten_ThenPeopleCanReadThem(long value)
    {
        Assert.Equal("begin", default(ResetPosition).ToString());
        Assert.Equal("end", ResetPosition.End.ToString());
        Assert.Equal($"offset:{value}", ResetPosition.AtOffset(value).ToString());
        Assert.Equal($"by:{-value}", ResetPosition.By(-value).ToString());
        Assert.Equal(
            "time:1970-01-01T00:00:00.0000000+00:00", ResetPosition.AtTime(DateTimeOffset.MinValue).ToString());
        Assert.Throws<ArgumentOutOfRangeException>(() => ResetPosition.AtOffset(-1 - value));
    }

    private static async Task RefusedAsync(ErrorCode code, Task task) =>
        Assert.Equal(code, (await Assert.ThrowsAsync<EQueueException>(() => task)).Code);

    private static async Task SendAsync(TestBroker broker, int count)
    {
        await using Producer producer = broker.Client.CreateProducer();
        Message[] messages = Enumerable.Range(0, count).Select(i => new Message(BitConverter.GetBytes(i))).ToArray();
        await producer.SendBatchAsync("orders", messages, Token);
    }

    private static async Task<List<int>> ReadAsync(TestBroker broker)
    {
        await using Consumer consumer = broker.Client.CreateConsumer("g", ["orders"], ToTheEnd);
        List<int> read = [];
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
            read.Add(BitConverter.ToInt32(message.Body.Span));
        return read;
    }
}
