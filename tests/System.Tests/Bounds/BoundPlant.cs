using System.Buffers;
using EQueue.Client;
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

    private const int LargeBytes = 3_900_000;

    private BoundPlant(TopicDescription wide, TopicDescription large, TopicDescription full)
    {
        WideKeys = [.. wide.Queues.Select(queue => new FetchQueueKey(queue.Log, queue.Id))];
        LargeKey = new FetchQueueKey(large.Queues[0].Log, large.Queues[0].Id);
        Parked = Produce(full.Queues[0].Id, Enumerable.Repeat(Batch(500_000), 1));
        ManyBatches = Produce(new QueueId(uint.MaxValue), Enumerable.Repeat(Array.Empty<byte>(), 30_000));
        FetchLarge = Fetch([LargeKey]);
        FetchWide = Fetch(WideKeys);
    }

    public FetchQueueKey[] WideKeys { get; }

    public FetchQueueKey LargeKey { get; }

    /// <summary>A batch that waits for room.</summary>
    public byte[] Parked { get; }

    /// <summary>Batches that are refused, each with an answer of its own.</summary>
    public byte[] ManyBatches { get; }

    /// <summary>Opens a session that is given a message of nearly 4 MB.</summary>
    public byte[] FetchLarge { get; }

    /// <summary>Opens a session of 10,000 queues that waits.</summary>
    public byte[] FetchWide { get; }

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
        await client.Admin.CreateTopicAsync(Sunk, new TopicSettings
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
        return new BoundPlant(wide, large, full);
    }

    private static byte[] Batch(int bytes)
    {
        var builder = new RecordBatchBuilder();
        byte[] buffer = new byte[RecordBatchLayout.HeaderSize + bytes + 64];
        builder.Reset(buffer, 1_000);
        builder.TryAppend(new byte[bytes], 1_000);
        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }

    private static byte[] Produce(QueueId queue, IEnumerable<byte[]> batches)
    {
        byte[][] all = [.. batches];
        byte[] body = new byte[
            ProduceRequestHeader.Size + all.Sum(batch => ProduceBatchHeader.Size + batch.Length)];
        new ProduceRequestHeader(Durability.Policy, 0, 0, all.Length).Write(body);
        int at = ProduceRequestHeader.Size;
        foreach (byte[] batch in all)
        {
            new ProduceBatchHeader(queue, 0, -1, uint.MaxValue, batch.Length).Write(body.AsSpan(at));
            batch.CopyTo(body, at + ProduceBatchHeader.Size);
            at += ProduceBatchHeader.Size + batch.Length;
        }

        return BoundPeer.Frame(Opcode.Produce, body);
    }

    private static byte[] Fetch(FetchQueueKey[] queues)
    {
        var body = new ArrayBufferWriter<byte>();
        var none = new QueueOffset(-1);
        new FetchRequest
        {
            MinBytes = 1,
            MaxBytes = 8 << 20,
            MaxWaitMs = 20_000,
            Queues = [.. queues.Select(queue =>
                new FetchQueue(queue, new QueueOffset(0), -1, 8 << 20, uint.MaxValue, none))],
        }.Write(new PayloadWriter(body));
        return BoundPeer.Frame(Opcode.Fetch, body.WrittenSpan);
    }
}
