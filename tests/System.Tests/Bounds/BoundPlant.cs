using System.Buffers;
using EQueue.Protocol;

namespace EQueue.System.Tests.Bounds;

/// <summary>What the server holds before it is driven: topics whose answers are long, and requests made for them.</summary>
internal sealed class BoundPlant
{
    public const string Wide = "wide";
    public const string Large = "large";
    public const string Full = "full";
    public const string Sunk = "sunk";
    public const string Group = "described";
    public const int WideQueues = 10_000;

    /// <summary>As many queues as fit into the quarter of all sessions that one connection has.</summary>
    public const int SessionQueues = 6_500;

    private const int LargeBytes = 3_900_000;

    private readonly QueueId _full;

    private BoundPlant(
        TopicDescription wide, TopicDescription large, TopicDescription full, TopicDescription sunk)
    {
        _full = full.Queues[0].Id;
        WideKeys = [.. wide.Queues.Select(queue => new QueueKey(queue.Log, queue.Id))];
        LargeKey = new QueueKey(large.Queues[0].Log, large.Queues[0].Id);
        Kept = Produce(sunk.Queues[0].Id, [Batch(LargeBytes)]);
        ManyBatches = Produce(new QueueId(uint.MaxValue), Enumerable.Repeat(new byte[1], 30_000));
    }

    public QueueKey[] WideKeys { get; }

    public QueueKey LargeKey { get; }

    /// <summary>The longest batch; those before it go.</summary>
    public byte[] Kept { get; }

    /// <summary>Batches that are refused, each with an answer of its own.</summary>
    public byte[] ManyBatches { get; }

    public static async Task<BoundPlant> MakeAsync(EQueueClient client, CancellationToken cancellationToken)
    {
        TopicDescription wide = await client.Admin.CreateTopicAsync(
            Wide, new TopicSettings { QueueCount = WideQueues }, cancellationToken);
        TopicDescription large = await client.Admin.CreateTopicAsync(
            Large, new TopicSettings { QueueCount = 1 }, cancellationToken);
        TopicDescription full = await client.Admin.CreateTopicAsync(
            Full,
            new TopicSettings { QueueCount = 1, MaxBacklogMessages = 1, BacklogGroups = "nobody" },
            cancellationToken);
        TopicDescription sunk = await client.Admin.CreateTopicAsync(Sunk, new TopicSettings
        {
            QueueCount = 1,
            MaxBacklogMessages = 4,
            BacklogPolicy = BacklogPolicy.DropOldest,
        }, cancellationToken);
        await using Producer producer = client.CreateProducer();
        for (int i = 0; i < 8; i++)
            await producer.SendAsync(Large, new byte[LargeBytes], "key", cancellationToken: cancellationToken);
        await producer.SendAsync(Full, "x"u8.ToArray(), cancellationToken: cancellationToken);
        await client.Admin.ResetGroupOffsetsAsync(
            Group, ResetPosition.End, Wide, cancellationToken: cancellationToken);
        return new BoundPlant(wide, large, full, sunk);
    }

    /// <summary>A batch that waits for room, in vain.</summary>
    public byte[] Parked(TimeSpan wait) => Produce(_full, [Batch(500_000)], wait);

    /// <summary>Opens a session that is given a message of nearly 4 MB.</summary>
    public byte[] FetchLarge(TimeSpan wait) => Fetch([LargeKey], wait);

    /// <summary>Opens a session of very many queues that waits.</summary>
    public byte[] FetchWide(TimeSpan wait) => Fetch(WideKeys[..SessionQueues], wait);

    private static byte[] Batch(int bytes)
    {
        var builder = new RecordBatchBuilder();
        byte[] buffer = new byte[RecordBatchLayout.HeaderSize + bytes + 64];
        builder.Reset(buffer, 1_000);
        builder.TryAppend(new byte[bytes], 1_000);
        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }

    private static byte[] Produce(QueueId queue, IEnumerable<byte[]> batches, TimeSpan wait = default)
    {
        byte[][] all = [.. batches];
        byte[] body = new byte[
            ProduceRequestHeader.Size + all.Sum(batch => ProduceBatchHeader.Size + batch.Length)];
        new ProduceRequestHeader(Durability.Policy, (int)wait.TotalMilliseconds, 0, all.Length).Write(body);
        int at = ProduceRequestHeader.Size;
        foreach (byte[] batch in all)
        {
            new ProduceBatchHeader(queue, 0, -1, uint.MaxValue, batch.Length).Write(body.AsSpan(at));
            batch.CopyTo(body, at + ProduceBatchHeader.Size);
            at += ProduceBatchHeader.Size + batch.Length;
        }

        return BoundPeer.Frame(Opcode.Produce, body);
    }

    private static byte[] Fetch(QueueKey[] queues, TimeSpan wait)
    {
        var body = new ArrayBufferWriter<byte>();
        var none = new QueueOffset(-1);
        new FetchRequest
        {
            MinBytes = 1,
            MaxBytes = 8 << 20,
            MaxWaitMs = (int)wait.TotalMilliseconds,
            Queues = [.. queues.Select(queue =>
                new FetchQueue(queue, new QueueOffset(0), -1, 8 << 20, uint.MaxValue, none))],
        }.Write(new PayloadWriter(body));
        return BoundPeer.Frame(Opcode.Fetch, body.WrittenSpan);
    }
}
