using System.Text;

namespace EQueue.Client.Tests;

/// <summary>Bodies, keys and properties that are read as text.</summary>
public sealed class ReceivedTextTests
{
    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenBodiesAndPropertiesThatAreNotUtf8_WhenReadAsText_ThenThatIsToldAndTheBytesAreThere()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        byte[] bad = [0x61, 0xff];
        var properties = new RecordProperties();
        properties.Add("bad", new OptionalBytes(bad));
        await producer.SendAsync("t", new RecordContent
        {
            Key = new OptionalBytes(bad),
            Body = new OptionalBytes(bad),
            Properties = properties,
        }, Token);

        await using QueueReader reader = broker.Client.CreateReader();
        await reader.AssignAsync("t", 0, StartPosition.Begin, Token);
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            Assert.Throws<DecoderFallbackException>(() => message.BodyText);
            Assert.Throws<DecoderFallbackException>(() => message.GetPropertyText("bad"));
            Assert.True(message.TryGetProperty("bad", out ReadOnlySpan<byte> value));
            Assert.Equal(bad, value);
            Assert.Equal("a\ufffd", message.KeyText);
            DetachedMessage detached = message.Detach();
            Assert.Throws<DecoderFallbackException>(() => detached.BodyText);
            Assert.Throws<DecoderFallbackException>(() => detached.GetPropertyText("bad"));
            Assert.True(detached.TryGetProperty("bad", out value));
            Assert.Equal(bad, value);
            Assert.Equal("a\ufffd", detached.KeyText);
            break;
        }
    }

    [Fact]
    public async Task GivenAMessageOfText_WhenRead_ThenEachPartIsThatText()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        await producer.SendAsync("t", "zwei Tees für 3 €", "schlüssel", cancellationToken: Token);
        await using QueueReader reader = broker.Client.CreateReader();
        await reader.AssignAsync("t", 0, StartPosition.Begin, Token);
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            Assert.Equal(("zwei Tees für 3 €", "schlüssel"), (message.BodyText, message.KeyText));
            DetachedMessage detached = message.Detach();
            Assert.Equal(("zwei Tees für 3 €", "schlüssel"), (detached.BodyText, detached.KeyText));
            break;
        }
    }

    [Fact]
    public async Task GivenAMessageWithoutAnything_WhenReadAsText_ThenEachPartIsNull()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        await producer.SendAsync("t", new Message(null), Token);
        await using QueueReader reader = broker.Client.CreateReader();
        await reader.AssignAsync("t", 0, StartPosition.Begin, Token);
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            Assert.Equal((null, null, null), (message.BodyText, message.KeyText, message.GetPropertyText("p")));
            Assert.False(message.TryGetProperty("p", out ReadOnlySpan<byte> value));
            Assert.True(value.IsEmpty);
            DetachedMessage detached = message.Detach();
            Assert.Equal((null, null, null), (detached.BodyText, detached.KeyText, detached.GetPropertyText("p")));
            break;
        }
    }

    [Fact]
    public async Task GivenPropertiesOfOneName_WhenLookedUp_ThenTheFirstIsGivenAndNothingIsAllocated()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        await using Producer producer = broker.Client.CreateProducer();
        string longName = new('ü', 1000);
        var properties = new RecordProperties();
        properties.Add("ä", "first");
        properties.Add("none", (string?)null);
        properties.Add("ä", "second");
        properties.Add("none", "later");
        properties.Add(longName, "long");
        properties.Add("\ufffd", "replacement");
        await producer.SendAsync("t", "body", tag: "tag", properties: properties, cancellationToken: Token);

        await using QueueReader reader = broker.Client.CreateReader();
        await reader.AssignAsync("t", 0, StartPosition.Begin, Token);
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
        {
            Assert.Equal("first", message.GetPropertyText("ä"));
            Assert.Equal("long", message.GetPropertyText(longName));
            Assert.True(message.TryGetProperty("none", out ReadOnlySpan<byte> value));
            Assert.True(value.IsEmpty);
            Assert.Null(message.GetPropertyText("none"));
            Assert.False(message.TryGetProperty("\ud800", out _));
            Assert.False(message.TryGetProperty("", out _));
            Assert.Throws<ArgumentNullException>(() => message.TryGetProperty(null!, out _));

            DetachedMessage detached = message.Detach();
            Assert.Equal("first", detached.GetPropertyText("ä"));
            Assert.True(detached.TryGetProperty("none", out value));
            Assert.True(value.IsEmpty);
            Assert.Null(detached.GetPropertyText("none"));

            Assert.Equal(0, AllocatedByLookingUp(message, "ä"));
            break;
        }
    }

    private static long AllocatedByLookingUp(ReceivedMessage message, string name)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        for (int i = 0; i < 1000; i++)
        {
            if (!message.TryGetProperty(name, out ReadOnlySpan<byte> value) || value.Length != 5)
                return -1;
        }

        return GC.GetAllocatedBytesForCurrentThread() - before;
    }
}
