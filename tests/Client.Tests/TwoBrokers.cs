using System.Globalization;
using System.Text;

namespace EQueue.Client.Tests;

/// <summary>Two brokers with four queues each, and a client of both.</summary>
internal sealed class TwoBrokers : IAsyncDisposable
{
    public const string Topic = "orders";

    private TwoBrokers(TestBroker first, TestBroker second)
    {
        First = first;
        Second = second;
        Client = NewClient();
    }

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    public TestBroker First { get; }

    public TestBroker Second { get; }

    public EQueueClient Client { get; }

    public static async Task<TwoBrokers> StartAsync()
    {
        var plant = new TwoBrokers(await TestBroker.StartAsync(), await TestBroker.StartAsync());
        TopicDescription topic = await plant.Client.Admin.CreateTopicAsync(
            Topic, new TopicSettings { QueueCount = 4 }, Token);
        Assert.Equal(Enumerable.Range(0, 8), topic.Queues.Select(static queue => queue.Number));
        return plant;
    }

    public EQueueClient NewClient() => new(new ClientOptions
    {
        Addresses = $"{First.Address},{Second.Address}",
        RequestTimeout = TimeSpan.FromSeconds(5),
    });

    /// <summary>Every message by its number, where it is; fails when one is stored twice.</summary>
    public static async Task<Dictionary<int, (int Queue, long Offset)>> ReadAllAsync(EQueueClient client)
    {
        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync(Topic, StartPosition.Begin, Token);
        Dictionary<int, (int, long)> read = [];
        await foreach (ReceivedMessage message in reader.ReadAllAsync(Token))
            read.Add(Number(message), (message.Queue, message.Offset.Value));
        return read;
    }

    /// <summary>The number that is the message's body.</summary>
    public static int Number(ReceivedMessage message) =>
        int.Parse(Encoding.UTF8.GetString(message.Body.Span), CultureInfo.InvariantCulture);

    public static Task<SendReceipt> SendAsync(Producer producer, int number, string? key) => producer.SendAsync(
        Topic,
        Encoding.UTF8.GetBytes(number.ToString(CultureInfo.InvariantCulture)),
        key,
        cancellationToken: Token).AsTask();

    public async ValueTask DisposeAsync()
    {
        await Client.DisposeAsync();
        await First.DisposeAsync();
        await Second.DisposeAsync();
    }
}
