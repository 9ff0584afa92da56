using System.Text;
using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

/// <summary>Makes record batches and takes entries apart.</summary>
internal static class TestBatch
{
    public static byte[] Of(params string[] bodies) => Of(ProducerSession.None, -1, bodies);

    public static byte[] Of(ProducerSession producer, int baseSequence, params string[] bodies) =>
        Make(producer, baseSequence, bodies.Select(Encoding.UTF8.GetBytes).ToArray());

    public static byte[] OfSize(int bodySize, int seed)
    {
        byte[] body = new byte[bodySize];
        new Random(seed).NextBytes(body);
        return Make(ProducerSession.None, -1, [body]);
    }

    /// <summary>A record for each key, a null one for none; the bodies are zeros.</summary>
    public static byte[] OfKeys(int bodySize, params string?[] keys)
    {
        var builder = new RecordBatchBuilder();
        byte[] body = new byte[bodySize];
        byte[][] bytes = [.. keys.Select(key => Encoding.UTF8.GetBytes(key ?? ""))];
        byte[] buffer = new byte[RecordBatchLayout.HeaderSize + bytes.Sum(key => key.Length + bodySize + 64)];
        builder.Reset(buffer, 1_700_000_000_000);
        for (int i = 0; i < keys.Length; i++)
        {
            var content = new RecordContent { Body = body, Key = keys[i] is null ? default : bytes[i] };
            Assert.True(builder.TryAppend(content, 1_700_000_000_000));
        }
        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }

    /// <summary>One entry of a read.</summary>
    public sealed record Entry(long FirstOffset, long Position, int Epoch, long StoredTimeMs, byte[] Batch)
    {
        public int Count
        {
            get
            {
                Assert.Equal(ErrorCode.None, RecordBatch.Check(Batch, out RecordBatchHeader header));
                return header.RecordsCount;
            }
        }

        public string[] Bodies
        {
            get
            {
                var bodies = new List<string>();
                var reader = new RecordReader(Batch);
                while (reader.TryRead(out RecordView record))
                    bodies.Add(Encoding.UTF8.GetString(record.Body));
                Assert.Equal(ErrorCode.None, reader.Error);
                return [.. bodies];
            }
        }
    }

    /// <summary>Cuts what a read gave into entries and checks each as a client would.</summary>
    public static List<Entry> Split(ReadOnlySpan<byte> bytes, QueueId queue)
    {
        var entries = new List<Entry>();
        while (!bytes.IsEmpty)
        {
            var header = EntryHeader.Read(bytes);
            Assert.Equal(queue, header.Queue);
            byte[] batch = bytes[header.HeaderLength..header.Size].ToArray();
            Assert.Equal(ErrorCode.None, RecordBatch.Check(batch, out RecordBatchHeader batchHeader));
            Assert.Equal(header.Epoch, batchHeader.LeaderEpoch);
            entries.Add(new Entry(
                batchHeader.BaseOffset.Value, header.Position.Value, header.Epoch, header.StoredTimeMs, batch));
            bytes = bytes[header.Size..];
        }
        return entries;
    }

    private static byte[] Make(ProducerSession producer, int baseSequence, byte[][] bodies)
    {
        var builder = new RecordBatchBuilder();
        byte[] buffer = new byte[RecordBatchLayout.HeaderSize + bodies.Sum(body => body.Length + 64)];
        builder.Reset(buffer, 1_700_000_000_000);
        foreach (byte[] body in bodies)
            Assert.True(builder.TryAppend(body, 1_700_000_000_000));
        return buffer[..builder.Complete(producer, baseSequence)];
    }
}
