using System.Text;
using EQueue.Support;

namespace EQueue.System.Tests;

/// <summary>What the data directory of a version holds: something of every kind that is stored.</summary>
internal static class VersionContent
{
    /// <summary>Bytes of a segment that are kept when zeros end it: recovery tells the end by them.</summary>
    private const int ZerosKept = 64;

    private const int EarlyOrders = 80;
    private const int Orders = 90;
    private const int Events = 50;
    private const int EventsKept = 15;
    private const int BulkBytes = 3_000;
    private const int BulkKept = 2;

    /// <summary>A folder for each version.</summary>
    public static string[] Folders => Directory.GetDirectories(Path.Combine(AppContext.BaseDirectory, "Versions"));

    private static CancellationToken Token => TestContext.Current.CancellationToken;

    /// <summary>Commands that together tell all of it, each printing lines of JSON.</summary>
    public static IEnumerable<string> Questions =>
    [
        "find orders --last 1000",
        "find events --last 1000",
        "find bulk --last 1000",
        "topic describe orders events bulk",
        "group list",
        "group describe billing",
        "group describe audit",
        "quota list",
        "find orders --key customer-3 --limit 5",
    ];

    public static async Task FillAsync(string address, string dataDirectory)
    {
        await using var client = new EQueueClient(address);
        await client.Admin.CreateTopicAsync("orders", new TopicSettings { QueueCount = 3 }, Token);
        await client.Admin.CreateTopicAsync(
            "events", new TopicSettings { QueueCount = 1, RetentionCount = EventsKept }, Token);
        await client.Admin.CreateTopicAsync(
            "bulk", new TopicSettings { QueueCount = 1, RetentionBytes = BulkKept * BulkBytes }, Token);
        await client.Admin.SetQuotaAsync(new Quota(QuotaKind.Client, "billing", 1_000_000, 2_000_000, 100), Token);
        await using Producer producer = client.CreateProducer();
        for (int i = 0; i < EarlyOrders; i++)
            await SendAsync(producer, i);
        await ReadAsync(client, "billing", "orders", count: 40);
        await ReadAsync(client, "audit", "events", count: 7);
        await client.Admin.AlterQueuesAsync("events", [0], isWritable: false, cancellationToken: Token);
        await RollAsync(producer, dataDirectory);
        for (int i = EarlyOrders; i < Orders; i++)
            await SendAsync(producer, i);
        await SettleAsync(client);
    }

    /// <summary>Copies the data directory of a version.</summary>
    public static void Copy(string folder, string to)
    {
        string from = Path.Combine(folder, "data");
        foreach (string file in Directory.GetFiles(from, "*", SearchOption.AllDirectories))
        {
            string target = Path.Combine(to, Path.GetRelativePath(from, file));
            Directory.CreateDirectory(Path.GetDirectoryName(target)!);
            File.Copy(file, target);
        }
    }

    /// <summary>Copies what counts, without the zeros at the end of the last segment.</summary>
    public static void CopyTrimmed(string from, string to)
    {
        foreach (string file in Directory.GetFiles(from, "*", SearchOption.AllDirectories))
        {
            if (Path.GetFileName(file) == "lock" || Path.GetExtension(file) is ".next" or ".tmp")
                continue;
            string target = Path.Combine(to, Path.GetRelativePath(from, file));
            Directory.CreateDirectory(Path.GetDirectoryName(target)!);
            byte[] bytes = File.ReadAllBytes(file);
            int used = bytes.AsSpan().LastIndexOfAnyExcept((byte)0) + 1;
            File.WriteAllBytes(
                target, Path.GetExtension(file) == ".log" ? bytes[..Math.Min(bytes.Length, used + ZerosKept)] : bytes);
        }
    }

    private static async Task SendAsync(Producer producer, int i)
    {
        string body = $"order {i} of an old customer, déjà vu, {new string((char)('a' + (i % 26)), i)}";
        RecordProperties? properties = null;
        if (i % 4 == 0)
        {
            properties = new RecordProperties();
            properties.Add("channel", "web");
            properties.Add("attempt", $"{i}");
        }

        await producer.SendAsync(
            "orders",
            Encoding.UTF8.GetBytes(body),
            key: i % 5 == 0 ? null : $"customer-{i % 7}",
            tag: i % 3 == 0 ? "paid" : i % 3 == 1 ? "open" : null,
            properties,
            Token);
        if (i < Events)
        {
            await producer.SendAsync(
                "events", Encoding.UTF8.GetBytes($"event {i}"), $"k{i}", cancellationToken: Token);
        }
    }

    private static async Task ReadAsync(EQueueClient client, string group, string topic, int count)
    {
        await using Consumer consumer = client.CreateConsumer(
            group, [topic], new ConsumerOptions { AutoCommit = false });
        await foreach (ReceivedMessage message in consumer.ReadAllAsync(Token))
        {
            await consumer.CommitAsync(message, Token);
            if (--count == 0)
                break;
        }
    }

    /// <summary>Sends what does not stay until an old segment has been packed.</summary>
    private static async Task RollAsync(Producer producer, string dataDirectory)
    {
        byte[] body = new byte[BulkBytes];
        string log = Path.Combine(dataDirectory, "logs", "0");
        await Eventually.TrueAsync(async () =>
        {
            new Random(1).NextBytes(body);
            await producer.SendAsync("bulk", body, cancellationToken: Token);
            return Directory.GetFiles(log, "*.pack").Length > 0;
        });
    }

    /// <summary>Waits until retention and the groups' expiry change nothing any more.</summary>
    private static async Task SettleAsync(EQueueClient client)
    {
        await Eventually.TrueAsync(async () =>
        {
            TopicDescription bulk = await client.Admin.DescribeTopicAsync("bulk", Token);
            TopicDescription events = await client.Admin.DescribeTopicAsync("events", Token);
            return bulk.Queues[0].End.Value - bulk.Queues[0].Start.Value <= BulkKept
                && events.Queues.All(queue => queue.End.Value - queue.Start.Value <= EventsKept);
        });
    }
}
