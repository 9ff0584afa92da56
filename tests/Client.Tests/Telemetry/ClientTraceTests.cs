using System.Diagnostics;

namespace EQueue.Client.Tests;

[Collection(nameof(ObservedTests))]
public sealed class ClientTraceTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenASampledActivity_WhenAMessageIsSentAndRead_ThenItsContextGoesFromSpanToSpan()
    {
        using var spans = new SpanRecorder();
        await using TestBroker broker = await TestBroker.StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        ActivityContext sender;
        using (Activity work = spans.Begin("take an order"))
        {
            work.TraceStateString = "vendor=7";
            sender = work.Context;
            await producer.SendAsync("orders", "one coffee"u8, key: "k", tag: "paid", cancellationToken: Token);
            Assert.Same(work, Activity.Current);
        }

        await using Consumer consumer = broker.Client.CreateConsumer("billing", ["orders"], AtEnd);
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            Assert.True(message.TryGetTraceContext(out ActivityContext found));
            Assert.Equal((sender.TraceId, sender.SpanId), (found.TraceId, found.SpanId));
            Assert.True(found.IsRemote);
            Assert.Equal("vendor=7", found.TraceState);
            Assert.True(message.Detach().TryGetTraceContext(out ActivityContext detached));
            Assert.Equal(found, detached);
            Assert.Equal($"00-{sender.TraceId}-{sender.SpanId}-01", message.TraceParent);
            Assert.Equal("vendor=7", message.TraceState);
            Assert.Equal("paid", message.Tag);
            Assert.Null(Activity.Current);
        }

        Activity send = Assert.Single(spans.Ended("send"));
        Assert.Equal(("send orders", ActivityKind.Producer), (send.DisplayName, send.Kind));
        Assert.Equal((sender.TraceId, sender.SpanId), (send.TraceId, send.ParentSpanId));
        Assert.Equal(1, send.GetTagItem("messaging.batch.message_count"));
        Assert.Equal("equeue", send.GetTagItem("messaging.system"));
        Assert.Equal(1, send.GetTagItem("equeue.attempts"));
        Activity process = Assert.Single(spans.Ended("process"));
        Assert.Equal(("process orders", ActivityKind.Consumer), (process.DisplayName, process.Kind));
        Assert.Null(process.Parent);
        Assert.Equal(sender.SpanId, Assert.Single(process.Links).Context.SpanId);
        Assert.Equal(1L, process.GetTagItem("messaging.batch.message_count"));
        Assert.Equal("billing", process.GetTagItem("messaging.consumer.group.name"));
    }

    [Fact]
    public async Task GivenABatchOfManyTraces_WhenItLeavesAndIsRead_ThenItsSpansLinkToEach()
    {
        using var spans = new SpanRecorder();
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        await producer.SendAsync("orders", "makes the route known"u8, cancellationToken: Token);
        var sends = new List<ValueTask<SendReceipt>>();
        List<ActivitySpanId> senders = [];
        await using Producer lingering = broker.Client.CreateProducer(
            new ProducerOptions { Linger = TimeSpan.FromSeconds(30) });
        foreach (string name in (string[])["a", "b", "b", "c"])
        {
            using Activity work = spans.Begin(name);
            senders.Add(work.SpanId);
            sends.Add(lingering.SendAsync("orders", "x"u8, cancellationToken: Token));
            sends.Add(lingering.SendAsync("orders", "y"u8, cancellationToken: Token));
        }

        sends.Add(lingering.SendAsync("orders", "nobody's"u8, cancellationToken: Token));
        await lingering.FlushAsync(Token);
        foreach (ValueTask<SendReceipt> send in sends)
            await send;

        Activity many = spans.Ended("send").Single(span => span.GetTagItem("messaging.batch.message_count") is 9);
        Assert.Equal(senders, many.Links.Select(static link => link.Context.SpanId));
        Assert.Equal(default, many.ParentSpanId);
        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAsync("orders", 0, StartPosition.Begin, Token);
        int withContext = 0;
        await foreach (ReceivedBatch batch in reader.ReadBatchesAsync(Token))
        {
            foreach (RecordView record in batch)
                withContext += MessageTrace.TryRead(record, out _) ? 1 : 0;
        }

        Assert.Equal(8, withContext);
        Assert.Equal(
            senders, spans.Ended("process").SelectMany(static span => span.Links).Select(link => link.Context.SpanId));
        Assert.Equal(10L, spans.Ended("process").Sum(static span => (long)span.GetTagItem("messaging.batch.message_count")!));
    }

    [Fact]
    public async Task GivenNoListenerOrNoSampledActivity_WhenMessagesAreSent_ThenTheyCarryNothing()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        using (Activity work = new Activity("nobody listens").SetIdFormat(ActivityIdFormat.W3C).Start())
        {
            work.ActivityTraceFlags = ActivityTraceFlags.Recorded;
            await producer.SendAsync("orders", "1"u8, cancellationToken: Token);
        }

        using (new SpanRecorder())
        {
            await producer.SendAsync("orders", "2"u8, cancellationToken: Token);
            using Activity work = new Activity("not sampled").SetIdFormat(ActivityIdFormat.W3C).Start();
            await producer.SendAsync("orders", "3"u8, cancellationToken: Token);
        }

        FoundMessages messages = await broker.Client.Admin.ReadLatestAsync("orders", 10, cancellationToken: Token);
        Assert.Equal(3, messages.Messages.Count);
        Assert.All(messages.Messages, static message => Assert.Empty(message.Properties));
        Assert.All(messages.Messages, static message => Assert.False(message.TryGetTraceContext(out _)));
    }

    [Fact]
    public async Task GivenAMessageWithAContextOfItsOwn_WhenItIsSent_ThenItKeepsIt()
    {
        const string Own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        using var spans = new SpanRecorder();
        await using TestBroker broker = await TestBroker.StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        using (spans.Begin("forwards"))
        {
            var properties = new RecordProperties();
            properties.Add("colour", "red");
            properties.Add("traceparent", Own);
            await producer.SendAsync("orders", "x"u8, properties: properties, cancellationToken: Token);
        }

        DetachedMessage message =
            Assert.Single((await broker.Client.Admin.ReadLatestAsync("orders", 1, cancellationToken: Token)).Messages);
        Assert.Equal(["colour", "traceparent"], message.Properties.Select(static pair => pair.Key));
        Assert.Equal(Own, System.Text.Encoding.UTF8.GetString(message.Properties[1].Value!));
        Assert.Equal("b7ad6b7169203331", Assert.Single(spans.Ended("send")).ParentSpanId.ToString());
    }

    [Fact]
    public async Task GivenSendsThatWaitForTheRoute_WhenTheyAreAdmitted_ThenEachHasTheContextOfItsOwnSender()
    {
        using var spans = new SpanRecorder();
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        List<Task> sends = [];
        List<string> senders = [];
        for (int i = 0; i < 5; i++)
        {
            // The first call has everything to do: route, connection, session. All of these wait for it.
            using Activity? work = i == 3 ? null : spans.Begin($"sender {i}");
            if (work is not null)
                senders.Add(work.SpanId.ToString());
            sends.Add(producer.SendAsync("orders", "x"u8, cancellationToken: Token).AsTask());
        }

        await Task.WhenAll(sends);
        IReadOnlyList<DetachedMessage> found =
            (await broker.Client.Admin.ReadLatestAsync("orders", 10, cancellationToken: Token)).Messages;
        Assert.Equal(5, found.Count);
        Assert.Empty(found[3].Properties);
        Assert.Equal(
            senders,
            found.Where(static message => message.Properties.Count > 0).Select(static message =>
                ActivityContext.Parse(System.Text.Encoding.UTF8.GetString(message.Properties[0].Value!), null)
                    .SpanId.ToString()));
    }

    [Fact]
    public async Task GivenABatchThatFails_WhenItsSpanEnds_ThenItTellsTheError()
    {
        using var spans = new SpanRecorder();
        await using FakeBroker broker = await FakeBroker.StartAsync();
        broker.Refusal = ErrorCode.InvalidBatch;
        broker.Script = static request => request == 0 ? Verdict.RefuseFirst : Verdict.Store;
        await using var client = new EQueueClient(new ClientOptions { Addresses = broker.Address });
        await using Producer producer = client.CreateProducer();
        await Assert.ThrowsAsync<EQueueException>(async () =>
            await producer.SendAsync("t", BitConverter.GetBytes(1).AsSpan(), cancellationToken: Token));

        Activity span = Assert.Single(spans.Ended("send t"));
        Assert.Equal(ActivityStatusCode.Error, span.Status);
        Assert.Equal("InvalidBatch", span.GetTagItem("error.type"));
    }

    [Fact]
    public async Task GivenALargeMessageAndALongState_WhenSentWithATrace_ThenItFitsItsBatchOfItsOwn()
    {
        using var spans = new SpanRecorder();
        await using TestBroker broker = await TestBroker.StartAsync();
        await using Producer producer = broker.Client.CreateProducer();
        using Activity work = spans.Begin("large");
        work.TraceStateString = "vendor=" + new string('x', 500);
        byte[] body = new byte[3 * 1024 * 1024];
        await producer.SendAsync("orders", body.AsSpan(), cancellationToken: Token);
        await producer.SendAsync("orders", body.AsSpan(0, 1), cancellationToken: Token);
        work.TraceStateString = "vendor=" + new string('x', 600);
        await producer.SendAsync("orders", body.AsSpan(0, 2), cancellationToken: Token);
        IReadOnlyList<DetachedMessage> found =
            (await broker.Client.Admin.ReadLatestAsync("orders", 10, cancellationToken: Token)).Messages;
        Assert.Equal([2, 2, 1], found.Select(static message => message.Properties.Count));
        Assert.Equal([body.Length, 1, 2], found.Select(static message => message.Body!.Length));
    }

    private static ConsumerOptions AtEnd => new() { StopAtEnd = true };
}
