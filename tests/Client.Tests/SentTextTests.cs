using System.Text;

namespace EQueue.Client.Tests;

/// <summary>Bodies that are sent as text.</summary>
public sealed class SentTextTests
{
    private const string LoneSurrogate = "a\ud800";

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(170)]
    [InlineData(171)]
    [InlineData(100_000)]
    public async Task GivenATextOfAnyLength_WhenSentInEveryWay_ThenItsUtf8ComesBack(int length)
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        string text = new('€', length);
        var properties = new RecordProperties();
        properties.Add("p", "v");

        producer.SendOneway("t", text, "key", "tag", properties, Token);
        await producer.SendAsync("t", text, "key", "tag", properties, Token);
        await Task.Run(() => producer.Send("t", text, "key", "tag", properties, Token), Token);
        await producer.SendAsync("t", Message.FromText(text, "key", "tag", properties), Token);

        IReadOnlyList<DetachedMessage> read = await ReadAsync(broker, 4);
        Assert.All(read, message =>
        {
            Assert.Equal(Encoding.UTF8.GetBytes(text), message.Body);
            Assert.Equal("key"u8.ToArray(), message.Key!);
            Assert.Equal("tag", message.Tag);
            Assert.Equal("v"u8.ToArray(), Assert.Single(message.Properties).Value!);
        });
    }

    [Fact]
    public async Task GivenEachKindOfBody_WhenPassedAsItIs_ThenOneOverloadTakesIt()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        byte[] array = [.. "array"u8];
        await producer.SendAsync("t", array);
        await producer.SendAsync("t", array.AsMemory());
        await producer.SendAsync("t", "span"u8);
        await producer.SendAsync("t", "text");
        await producer.SendAsync("t", new Message(null));
        await producer.SendAsync("t", default(RecordContent), Token);

        IReadOnlyList<DetachedMessage> read = await ReadAsync(broker, 6);
        Assert.Equal(
            ["array", "array", "span", "text", null, null],
            read.Select(message => message.Body is { } body ? Encoding.UTF8.GetString(body) : null));
    }

    [Fact]
    public async Task GivenATextThatIsNoText_WhenSent_ThenItIsRefusedAndNothingLeaves()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        string longer = LoneSurrogate + new string('b', 10_000);

        await Assert.ThrowsAsync<ArgumentNullException>(async () => await producer.SendAsync("t", null!));
        await Assert.ThrowsAnyAsync<ArgumentException>(async () => await producer.SendAsync("t", LoneSurrogate));
        await Assert.ThrowsAnyAsync<ArgumentException>(async () => await producer.SendAsync("t", longer));
        Assert.ThrowsAny<ArgumentException>(() => producer.Send("t", LoneSurrogate, cancellationToken: Token));
        Assert.ThrowsAny<ArgumentException>(() => producer.SendOneway("t", longer, cancellationToken: Token));
        Assert.ThrowsAny<ArgumentException>(() => Message.FromText(LoneSurrogate));
        Assert.Throws<ArgumentNullException>(() => Message.FromText(null!));

        await producer.SendAsync("t", "good", cancellationToken: Token);
        Assert.Equal("good"u8.ToArray(), Assert.Single(await ReadAsync(broker, 1)).Body!);
    }

    private static async Task<IReadOnlyList<DetachedMessage>> ReadAsync(TestBroker broker, int count)
    {
        await using QueueReader reader = broker.Client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAsync("t", 0, StartPosition.Begin, Token);
        List<DetachedMessage> read = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
            read.Add(message.Detach());
        Assert.Equal(count, read.Count);
        return read;
    }
}
