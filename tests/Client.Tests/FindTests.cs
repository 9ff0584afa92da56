using System.Text;
using EQueue.Protocol;

namespace EQueue.Client.Tests;

/// <summary>Single messages by offset, time, key and from the end, against a real broker.</summary>
public sealed class FindTests
{
    private static readonly KeySearchOptions Everywhere = new() { AllQueues = true };

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    [Fact]
    public async Task GivenAMessageWithEverything_WhenReadByItsOffset_ThenEveryPartIsThere()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 2);
        EQueueAdmin admin = broker.Client.Admin;
        await using Producer producer = broker.Client.CreateProducer();
        var properties = new RecordProperties();
        properties.Add("a", "1");
        properties.Add("a", (string?)null);
        for (int i = 0; i < 20; i++)
            await producer.SendAsync("orders", Bytes("filler"), key: "k", cancellationToken: Token);
        SendReceipt receipt = await producer.SendAsync(
            "orders", Bytes("body"), key: "k", tag: "paid", properties: properties, cancellationToken: Token);

        DetachedMessage? message = await admin.ReadMessageAsync("orders", receipt.Queue, receipt.Offset.Value, Token);
        Assert.NotNull(message);
        Assert.Equal(("orders", receipt.Queue, receipt.Offset), (message.Topic, message.Queue, message.Offset));
        Assert.Equal(("k", "body", "paid"), (Text(message.Key), Text(message.Body), message.Tag));
        Assert.Equal(["a=1", "a="], message.Properties.Select(pair => $"{pair.Key}={Text(pair.Value)}"));
        Assert.Equal(receipt.StoredTime, message.StoredTime);
        Assert.InRange(message.CreateTime, receipt.StoredTime.AddMinutes(-1), receipt.StoredTime);

        Assert.Null(await admin.ReadMessageAsync("orders", receipt.Queue, receipt.Offset.Value + 1, Token));
        await RefusedAsync(ErrorCode.UnknownQueue, admin.ReadMessageAsync("orders", 2, 0, Token));
        await RefusedAsync(ErrorCode.UnknownTopic, admin.ReadMessageAsync("bills", 0, 0, Token));
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => admin.ReadMessageAsync("orders", 0, -1, Token).AsTask());
    }

    [Fact]
    public async Task GivenMessagesInAllQueues_WhenReadFromATime_ThenTheOldestComeInTheirOrder()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 3);
        List<SendReceipt> receipts = await SendSpreadAsync(broker, 60);
        EQueueAdmin admin = broker.Client.Admin;

        DateTimeOffset since = receipts[20].StoredTime;
        string[] expected = [.. Bodies(receipts, since, DateTimeOffset.MaxValue)];
        FoundMessages all = await admin.ReadFromTimeAsync("orders", since, cancellationToken: Token);
        Assert.Equal(expected, all.Messages.Select(message => Text(message.Body)));
        Assert.Equal((false, 0), (all.HasMore, all.UnreadableCount));
        Assert.Equal(all.Messages.Select(message => message.StoredTime).Order(), all.Messages.Select(m => m.StoredTime));
        FoundMessages some = await admin.ReadFromTimeAsync("orders", since, limit: 7, cancellationToken: Token);
        Assert.Equal(expected[..7], some.Messages.Select(message => Text(message.Body)));
        Assert.True(some.HasMore);
        DateTimeOffset until = receipts[40].StoredTime;
        FoundMessages part = await admin.ReadFromTimeAsync("orders", since, until, cancellationToken: Token);
        Assert.Equal(Bodies(receipts, since, until), part.Messages.Select(message => Text(message.Body)));
        FoundMessages one =
            await admin.ReadFromTimeAsync("orders", DateTimeOffset.MinValue, queue: 1, cancellationToken: Token);
        Assert.Equal(
            receipts.Where(receipt => receipt.Queue == 1).Select(receipt => receipt.Offset),
            one.Messages.Select(message => message.Offset));
        Assert.Empty((await admin.ReadFromTimeAsync(
            "orders", DateTimeOffset.UtcNow.AddHours(1), cancellationToken: Token)).Messages);
    }

    [Fact]
    public async Task GivenMessagesInAllQueues_WhenTheLatestAreRead_ThenTheyAreTheNewestTheOldestFirst()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 3);
        List<SendReceipt> receipts = await SendSpreadAsync(broker, 60);
        EQueueAdmin admin = broker.Client.Admin;
        string[] bodies = [.. Bodies(receipts, DateTimeOffset.MinValue, DateTimeOffset.MaxValue)];
        FoundMessages latest = await admin.ReadLatestAsync("orders", 10, cancellationToken: Token);
        Assert.Equal(bodies[^10..], latest.Messages.Select(message => Text(message.Body)));
        Assert.True(latest.HasMore);
        FoundMessages all = await admin.ReadLatestAsync("orders", 1_000, cancellationToken: Token);
        Assert.Equal(bodies, all.Messages.Select(message => Text(message.Body)));
        Assert.False(all.HasMore);
        DetachedMessage last = Assert.Single((await admin.ReadLatestAsync("orders", 1, 2, Token)).Messages);
        Assert.Equal(receipts.Last(receipt => receipt.Queue == 2).Offset, last.Offset);
        await Assert.ThrowsAsync<ArgumentOutOfRangeException>(
            () => admin.ReadLatestAsync("orders", FoundMessages.MaxCount + 1, cancellationToken: Token).AsTask());
        await admin.CreateTopicAsync("empty", cancellationToken: Token);
        Assert.Empty((await admin.ReadLatestAsync("empty", 5, cancellationToken: Token)).Messages);
    }

    [Fact]
    public async Task GivenAKeyAmongOthers_WhenLookedUp_ThenItsMessagesComeAlsoAfterARestartAndFromOtherQueues()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 2);
        EQueueAdmin admin = broker.Client.Admin;
        await SendKeysAsync(broker, 300);
        await admin.AlterTopicAsync("orders", new TopicSettings { QueueCount = 5 }, Token);
        await broker.Client.DisposeAsync();
        await broker.RestartAsync();
        await using var client = new EQueueClient(broker.Address);
        int[] queues = Enumerable.Range(0, 30).Select(i => Murmur2.QueueOf(Bytes($"k{i}"), 5)).ToArray();
        Assert.Contains(queues, queue => queue > 1);
        for (int i = 0; i < 30; i++)
        {
            string[] expected = [.. Enumerable.Range(0, 10).Select(round => $"{(round * 30) + i}")];
            FoundMessages found = await client.Admin.FindByKeyAsync("orders", $"k{i}", Everywhere, Token);
            Assert.Equal(expected, found.Messages.Select(message => Text(message.Body)));
            Assert.All(found.Messages, message => Assert.Equal($"k{i}", Text(message.Key)));
            FoundMessages inItsQueue = await client.Admin.FindByKeyAsync("orders", $"k{i}", cancellationToken: Token);
            int old = Murmur2.QueueOf(Bytes($"k{i}"), 2);
            Assert.Equal(old == queues[i] ? expected : [], inItsQueue.Messages.Select(message => Text(message.Body)));
            Assert.Equal(
                10, (await client.Admin.FindByKeyAsync("orders", $"k{i}", new() { Queue = old }, Token)).Messages.Count);
        }

        Assert.Empty((await client.Admin.FindByKeyAsync("orders", "absent", Everywhere, Token)).Messages);
    }

    [Fact]
    public async Task GivenLimitAndTimes_WhenAKeyIsLookedUp_ThenTheOldestWithinThemCome()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 3);
        List<SendReceipt> receipts = await SendSpreadAsync(broker, 60);
        EQueueAdmin admin = broker.Client.Admin;
        string[] all = [.. Bodies(receipts, DateTimeOffset.MinValue, DateTimeOffset.MaxValue)];
        FoundMessages some = await admin.FindByKeyAsync("orders", "all", Everywhere with { Limit = 8 }, Token);
        Assert.Equal(all[..8], some.Messages.Select(message => Text(message.Body)));
        Assert.True(some.HasMore);
        FoundMessages exact = await admin.FindByKeyAsync("orders", "all", Everywhere with { Limit = 60 }, Token);
        Assert.Equal((60, false), (exact.Messages.Count, exact.HasMore));
        (DateTimeOffset since, DateTimeOffset until) = (receipts[10].StoredTime, receipts[50].StoredTime);
        FoundMessages part =
            await admin.FindByKeyAsync("orders", "all", Everywhere with { Since = since, Until = until }, Token);
        Assert.Equal(Bodies(receipts, since, until), part.Messages.Select(message => Text(message.Body)));
    }

    [Fact]
    public async Task GivenABatchThatNobodyCanDecompress_WhenLookedAt_ThenItIsCountedAndTheOthersCome()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        EQueueAdmin admin = broker.Client.Admin;
        await admin.CreateTopicAsync("orders", cancellationToken: Token);
        await using (var sender = new QueueSender(broker.Address, "orders"))
            await sender.SendAsync(0, "k", "a", Token);
        await broker.StoreBelowAsync("orders", 0, Token, QueueSender.Claiming((RecordCodec)7, "k", "b"));
        await using (var sender = new QueueSender(broker.Address, "orders"))
            await sender.SendAsync(0, "k", "c", Token);
        foreach (FoundMessages? found in new[]
                 {
                     await admin.FindByKeyAsync("orders", "k", cancellationToken: Token),
                     await admin.ReadLatestAsync("orders", 3, cancellationToken: Token),
                     await admin.ReadFromTimeAsync("orders", DateTimeOffset.MinValue, cancellationToken: Token),
                 })
        {
            Assert.Equal(["a", "c"], found.Messages.Select(message => Text(message.Body)));
            Assert.Equal((1, false), (found.UnreadableCount, found.HasMore));
        }

        await RefusedAsync(ErrorCode.UnsupportedCodec, admin.ReadMessageAsync("orders", 0, 1, Token));
        Assert.Equal("c", Text((await admin.ReadMessageAsync("orders", 0, 2, Token))!.Body));
    }

    [Fact]
    public async Task GivenWhatCannotBeAskedFor_WhenAKeyIsLookedUp_ThenItIsRefused()
    {
        await using TestBroker broker = await TestBroker.StartAsync(queues: 1);
        EQueueAdmin admin = broker.Client.Admin;
        await admin.CreateTopicAsync("orders", cancellationToken: Token);
        foreach (KeySearchOptions? bad
            in new[] { Everywhere with { Limit = 0 }, new() { Limit = 10_001 }, Everywhere with { Queue = 0 } })
        {
            await Assert.ThrowsAsync<ArgumentException>(
                () => admin.FindByKeyAsync("orders", "k", bad, Token).AsTask());
        }

        await RefusedAsync(ErrorCode.UnknownTopic, admin.FindByKeyAsync("bills", "k", cancellationToken: Token));
        await RefusedAsync(ErrorCode.UnknownQueue, admin.FindByKeyAsync("orders", "k", new() { Queue = 1 }, Token));
        await RefusedAsync(
            ErrorCode.InvalidArgument,
            admin.FindByKeyAsync("orders", new byte[FindByKeyRequest.MaxKeyBytes + 1], cancellationToken: Token));
    }

    /// <summary>One after the other, now to this queue and now to that, all with one key.</summary>
    private static async Task<List<SendReceipt>> SendSpreadAsync(TestBroker broker, int count)
    {
        await broker.Client.Admin.CreateTopicAsync("orders", cancellationToken: Token);
        await using var sender = new QueueSender(broker.Address, "orders");
        List<SendReceipt> receipts = [];
        for (int i = 0; i < count; i++)
            receipts.Add(await sender.SendAsync((i * 7 % 5) % 3, "all", $"{i}", Token));
        return receipts;
    }

    private static async Task SendKeysAsync(TestBroker broker, int count)
    {
        await using Producer producer = broker.Client.CreateProducer();
        for (int i = 0; i < count; i++)
            await producer.SendAsync("orders", Bytes($"{i}"), key: $"k{i % 30}", cancellationToken: Token);
    }

    private static IEnumerable<string> Bodies(List<SendReceipt> receipts, DateTimeOffset since, DateTimeOffset until) =>
        receipts
            .Select((receipt, i) => (Receipt: receipt, Body: $"{i}"))
            .Where(sent => sent.Receipt.StoredTime >= since && sent.Receipt.StoredTime < until)
            .OrderBy(sent => (sent.Receipt.StoredTime, sent.Receipt.Queue, sent.Receipt.Offset.Value))
            .Select(sent => sent.Body);

    private static byte[] Bytes(string text) => Encoding.UTF8.GetBytes(text);

    private static string? Text(byte[]? bytes) => bytes is null ? null : Encoding.UTF8.GetString(bytes);

    private static async Task RefusedAsync<T>(ErrorCode code, ValueTask<T> task) =>
        Assert.Equal(code, (await Assert.ThrowsAsync<EQueueException>(() => task.AsTask())).Code);
}
