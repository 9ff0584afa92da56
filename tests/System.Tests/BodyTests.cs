using System.Text;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>Every shape of message goes through a broker that is killed and restarted, byte for byte.</summary>
public sealed class BodyTests
{
    private const int Limit = 4 << 20;

    [Theory]
    [InlineData("sync")]
    [InlineData("async")]
    public async Task GivenBodiesOfEverySize_WhenTheBrokerIsKilledAfterTheReceipts_ThenEachIsReadAsItWasSent(string flush)
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"], "--flush", flush);
        Message[] messages =
        [
            new(ReadOnlyMemory<byte>.Empty),
            new(new byte[] { 0 }),
            new(RandomBytes(Limit, 1)),
            new(null),
            new("keyed"u8.ToArray(), Key: "clé"),
            new(null, Key: "only a key", Tag: "étiquette"),
            new("with properties"u8.ToArray(), Properties: ManyProperties()),
        ];
        await using (var client = new EQueueClient(server.Address))
        {
            await client.Admin.CreateTopicAsync("shapes", new TopicSettings { QueueCount = 1 });
            await using Producer producer = client.CreateProducer();
            foreach (Message message in messages)
                Assert.True((await producer.SendAsync("shapes", message)).Offset.Value >= 0);
        }

        await server.KillAsync();
        await server.RestartAsync();

        List<DetachedMessage> read = await ReadAllAsync(server.Address, "shapes");
        Assert.Equal(messages.Length, read.Count);
        foreach ((Message sent, DetachedMessage received) in messages.Zip(read))
        {
            Assert.Equal(sent.Body.HasValue, received.Body is not null);
            Assert.True(sent.Body.GetValueOrDefault().Span.SequenceEqual(received.Body));
            Assert.Equal(sent.Key, received.Key is null ? null : Encoding.UTF8.GetString(received.Key));
            Assert.Equal(sent.Tag, received.Tag);
        }

        Assert.Equal(ExpectedProperties(), read[^1].Properties.Select(
            pair => (pair.Key, pair.Value is null ? null : Encoding.UTF8.GetString(pair.Value))));
    }

    [Fact]
    public async Task GivenABodyOneByteOverTheLimit_WhenSent_ThenItIsRefusedBeforeAnythingIsSent()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        await using var client = new EQueueClient(server.Address);
        await client.Admin.CreateTopicAsync("large", new TopicSettings { QueueCount = 1 });
        await using Producer producer = client.CreateProducer();
        await producer.SendAsync("large", RandomBytes(Limit, 2));
        long before = await ProduceRequestsAsync(client);

        EQueueException refused = await Assert.ThrowsAsync<EQueueException>(
            async () => await producer.SendAsync("large", RandomBytes(Limit + 1, 3)));

        Assert.Equal(ErrorCode.MessageTooLarge, refused.Code);
        Assert.Equal(before, await ProduceRequestsAsync(client));
        Assert.Equal(1, (await client.Admin.FindOffsetAsync("large", 0, StartPosition.End)).Value);
    }

    [Fact]
    public async Task GivenFilesOfTheLimitAndOneMore_WhenSentByTheCommandLine_ThenTheFirstComesBackAndTheSecondIsRefused()
    {
        using var directory = new TempDirectory();
        await using ServerProcess server = await ServerProcess.StartAsync(directory["data"]);
        byte[] body = RandomBytes(Limit, 4);
        await File.WriteAllBytesAsync(directory["limit"], body);
        await File.WriteAllBytesAsync(directory["over"], [.. body, 1]);

        ProgramResult sent = await ProgramRun.RunAsync(
            "Cli", "send", "files", "--server", server.Address, "--file", directory["limit"]);
        Assert.True(sent.ExitCode == 0, sent.Error);
        ProgramResult refused = await ProgramRun.RunAsync(
            "Cli", "send", "files", "--server", server.Address, "--file", directory["over"], "--json");
        Assert.Equal(5, refused.ExitCode);
        Assert.Contains("\"MessageTooLarge\"", refused.Error, StringComparison.Ordinal);

        ProgramResult read = await ProgramRun.RunAsync(
            "Cli", "consume", "files", "--server", server.Address, "--group", "g");
        Assert.Equal([.. body, (byte)'\n'], read.Output);
    }

    private static async Task<long> ProduceRequestsAsync(EQueueClient client)
        => (await client.Admin.ReadFiguresAsync()).Find("broker.produceRequests")!.Value;

    private static async Task<List<DetachedMessage>> ReadAllAsync(string server, string topic)
    {
        await using var client = new EQueueClient(server);
        await using QueueReader reader = client.CreateReader(new ReaderOptions { StopAtEnd = true });
        await reader.AssignAllAsync(topic, StartPosition.Begin);
        var read = new List<DetachedMessage>();
        await foreach (ReceivedMessage message in reader.ReadAllAsync())
            read.Add(message.Detach());
        return read;
    }

    private static byte[] RandomBytes(int size, int seed)
    {
        byte[] bytes = new byte[size];
        new Random(seed).NextBytes(bytes);
        return bytes;
    }

    private static RecordProperties ManyProperties()
    {
        var properties = new RecordProperties();
        foreach ((string name, string? value) in ExpectedProperties())
            properties.Add(name, value);
        return properties;
    }

    /// <summary>Many, empty ones, null ones, and a name that repeats.</summary>
    private static IEnumerable<(string Name, string? Value)> ExpectedProperties()
        => Enumerable.Range(0, 1_000).Select(i => ($"property-{i}", (string?)$"valeur {i} é"))
            .Concat([("empty", ""), ("null", null), ("again", "1"), ("again", "2")]);
}
