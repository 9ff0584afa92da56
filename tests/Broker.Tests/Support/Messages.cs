using System.Text;
using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Broker.Tests;

/// <summary>Batches, produce and fetch requests as bytes, and their answers read again.</summary>
internal static class Messages
{
    public static byte[] Batch(params string[] bodies) => Batch(ProducerSession.None, -1, bodies);

    public static byte[] Batch(ProducerSession producer, int sequence, params string[] bodies) =>
        Batch(producer, sequence, [.. bodies.Select(Encoding.UTF8.GetBytes)]);

    public static byte[] Batch(ProducerSession producer, int sequence, params byte[][] bodies)
    {
        var builder = new RecordBatchBuilder();
        byte[] buffer = new byte[RecordBatchLayout.HeaderSize + bodies.Sum(body => body.Length + 64)];
        builder.Reset(buffer, 1_000);
        foreach (byte[] body in bodies)
            Assert.True(builder.TryAppend(body, 1_000));
        return buffer[..builder.Complete(producer, sequence)];
    }

    /// <summary>Messages with a tag of their own each; null: without one.</summary>
    public static byte[] Tagged(params (string? Tag, string Body)[] messages)
    {
        var builder = new RecordBatchBuilder();
        byte[][] bodies = [.. messages.Select(message => Encoding.UTF8.GetBytes(message.Body))];
        byte[] buffer = new byte[RecordBatchLayout.HeaderSize + bodies.Sum(body => body.Length + 64)];
        builder.Reset(buffer, 1_000);
        for (int i = 0; i < messages.Length; i++)
        {
            byte[]? tag = messages[i].Tag is { } text ? Encoding.UTF8.GetBytes(text) : null;
            Assert.True(builder.TryAppend(new RecordContent { Body = bodies[i], Tag = tag }, 1_000));
        }

        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }

    /// <summary>A message for each key, a null one for none.</summary>
    public static byte[] Keyed(params string?[] keys)
    {
        var builder = new RecordBatchBuilder();
        byte[][] bytes = [.. keys.Select(key => Encoding.UTF8.GetBytes(key ?? ""))];
        byte[] buffer = new byte[RecordBatchLayout.HeaderSize + bytes.Sum(key => key.Length + 64)];
        builder.Reset(buffer, 1_000);
        for (int i = 0; i < keys.Length; i++)
        {
            var content = new RecordContent { Body = "body"u8, Key = keys[i] is null ? default : bytes[i] };
            Assert.True(builder.TryAppend(content, 1_000));
        }

        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }

    public static FrameBuffer Produce(Durability durability, params (QueueId Queue, byte[] Batch)[] batches) =>
        Produce(new ProduceRequestHeader(durability, 0, 0, batches.Length), batches);

    public static FrameBuffer Produce(ProduceRequestHeader head, params (QueueId Queue, byte[] Batch)[] batches) =>
        Produce(head, [.. batches.Select(one => (one.Queue, TagBits.Unknown, one.Batch))]);

    public static FrameBuffer Produce(
        ProduceRequestHeader head, params (QueueId Queue, uint TagBits, byte[] Batch)[] batches)
    {
        var body = FrameBuffer.Rent();
        head.Write(body.Reserve(ProduceRequestHeader.Size));
        foreach ((QueueId queue, uint tagBits, byte[] batch) in batches)
        {
            new ProduceBatchHeader(queue, 0, -1, tagBits, batch.Length).Write(body.Reserve(ProduceBatchHeader.Size));
            batch.CopyTo(body.Reserve(batch.Length));
        }

        return body;
    }

    public static async Task<ProduceResult[]> ProduceAsync(
        this TestPeer peer, Durability durability, params (QueueId Queue, byte[] Batch)[] batches) =>
        ReadProduced(await peer.SendAsync(Opcode.Produce, Produce(durability, batches)));

    public static async Task<ProduceResult> ProduceAsync(this TestPeer peer, QueueId queue, params string[] bodies) =>
        Assert.Single(await peer.ProduceAsync(Durability.Policy, (queue, Batch(bodies))));

    public static ProduceResult[] ReadProduced(ResponseFrame answer)
    {
        using (answer)
        {
            Assert.Equal(ErrorCode.None, (ErrorCode)answer.Header.Error);
            Assert.True(ProduceResponse.TryReadHeader(answer.Payload.Span, out _, out int count));
            var results = new ProduceResult[count];
            for (int i = 0; i < count; i++)
            {
                results[i] = ProduceResult.Read(
                    answer.Payload.Span[(ProduceResponse.HeaderSize + (i * ProduceResult.Size))..]);
            }

            return results;
        }
    }

    public static FetchQueue From(QueueId queue, long offset, int maxBytes = 1 << 20) =>
        new(new QueueKey(0, queue), new QueueOffset(offset), -1, maxBytes, uint.MaxValue, new QueueOffset(-1));

    public static FetchRequest Open(int maxWaitMs, params FetchQueue[] queues) =>
        new() { MaxWaitMs = maxWaitMs, Queues = queues };

    public static async Task<Fetched> FetchAsync(this TestPeer peer, FetchRequest request) =>
        ReadFetched(await peer.SendAsync(Opcode.Fetch, TestPeer.Encode(request)));

    public static async Task<ErrorCode> FetchRefusalAsync(this TestPeer peer, FetchRequest request)
    {
        using ResponseFrame answer = await peer.SendAsync(Opcode.Fetch, TestPeer.Encode(request));
        return (ErrorCode)answer.Header.Error;
    }

    public static Fetched ReadFetched(ResponseFrame answer)
    {
        using (answer)
        {
            if (answer.Header.Error != 0)
                throw new EQueueException((ErrorCode)answer.Header.Error);
            ReadOnlySpan<byte> rest = answer.Payload.Span;
            Assert.True(FetchResponseHeader.TryRead(rest, out FetchResponseHeader head));
            rest = rest[FetchResponseHeader.Size..];
            var queues = new List<FetchedQueue>();
            for (int i = 0; i < head.QueueCount; i++)
            {
                Assert.True(FetchedQueueHeader.TryRead(rest, out FetchedQueueHeader header));
                rest = rest[FetchedQueueHeader.Size..];
                queues.Add(new FetchedQueue(header, ReadEntries(rest[..header.EntriesSize])));
                rest = rest[header.EntriesSize..];
            }

            Assert.True(rest.IsEmpty);
            return new Fetched(head.SessionId, head.Sequence, queues);
        }
    }

    private static List<(long Offset, string Body)> ReadEntries(ReadOnlySpan<byte> entries)
    {
        var messages = new List<(long, string)>();
        while (!entries.IsEmpty)
        {
            Assert.True(EntryView.TryRead(entries, out EntryView entry));
            ReadOnlySpan<byte> batch = entries[entry.HeaderSize..entry.Size];
            Assert.True(RecordBatch.HasValidCrc(batch));
            var reader = new RecordReader(batch);
            while (reader.TryRead(out RecordView record))
                messages.Add((record.Offset.Value, Encoding.UTF8.GetString(record.Body)));
            entries = entries[entry.Size..];
        }

        return messages;
    }
}

/// <summary>A fetch answer.</summary>
internal sealed record Fetched(uint Session, uint Sequence, IReadOnlyList<FetchedQueue> Queues)
{
    public IEnumerable<string> Bodies => Queues.SelectMany(queue => queue.Messages).Select(message => message.Body);

    public FetchRequest Next(int maxWaitMs = 0) =>
        new() { SessionId = Session, Sequence = Sequence + 1, MaxWaitMs = maxWaitMs };
}

/// <summary>One queue of a fetch answer.</summary>
internal sealed record FetchedQueue(FetchedQueueHeader Header, IReadOnlyList<(long Offset, string Body)> Messages);
