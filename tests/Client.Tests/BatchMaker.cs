using System.Buffers.Binary;
using EQueue.Protocol;
using EQueue.Support.Stores;

namespace EQueue.Client.Tests;

/// <summary>Makes a batch of every kind from a seed: good in any codec, mutated, or random; always with a right
/// CRC.</summary>
internal sealed class BatchMaker : IDisposable
{
    private readonly RecordCompressor[] _compressors =
        [.. Enum.GetValues<RecordCodec>().Select(static codec => new RecordCompressor(codec))];

    /// <returns>The batch, and whether nothing is wrong with it.</returns>
    public (byte[] Batch, bool IsGood) Make(int seed)
    {
        var random = new Random(seed);
        byte[] batch = Good(random);
        RecordCompressor compressor = _compressors[random.Next(3) == 0 ? random.Next(_compressors.Length) : 0];
        bool changesPlain = random.Next(3) == 0;
        if (changesPlain)
            Change(batch.AsSpan(RecordBatchLayout.HeaderSize), random);
        batch = batch[..compressor.Compress(batch)];
        bool changesPacked = random.Next(4) == 0;
        if (changesPacked)
            Change(batch.AsSpan(RecordBatchLayout.HeaderSize), random);
        bool changesHeader = random.Next(5) == 0;
        if (changesHeader)
            ChangeHeader(batch, random);
        BrokenBatches.FixCrc(batch);
        return (batch, !changesPlain && !changesPacked && !changesHeader);
    }

    public void Dispose()
    {
        foreach (RecordCompressor compressor in _compressors)
            compressor.Dispose();
    }

    private static byte[] Good(Random random)
    {
        byte[] buffer = new byte[64 * 1024];
        var builder = new RecordBatchBuilder();
        builder.Reset(buffer, 1_700_000_000_000);
        bool isPlain = random.Next(3) == 0;
        for (int left = random.Next(1, 30); left > 0; left--)
        {
            byte[] body = new byte[random.Next(6) == 0 ? random.Next(1_500) : random.Next(60)];
            if (random.Next(2) == 0)
                random.NextBytes(body);
            RecordContent content = isPlain
                ? new RecordContent { Body = body }
                : new RecordContent
                {
                    Key = random.Next(2) == 0 ? new byte[random.Next(80)] : null,
                    Body = random.Next(9) == 0 ? null : body,
                    Tag = random.Next(3) == 0 ? "tag"u8 : default(OptionalBytes),
                    Properties = random.Next(4) == 0 ? Properties(random) : null,
                };
            if (!builder.TryAppend(content, 1_700_000_000_000 + random.Next(-100, 100)))
                break;
        }

        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }

    private static RecordProperties Properties(Random random)
    {
        var properties = new RecordProperties();
        for (int left = random.Next(1, 4); left > 0; left--)
            properties.Add("traceparent", random.Next(3) == 0 ? null : "value");
        return properties;
    }

    private static void Change(Span<byte> bytes, Random random)
    {
        switch (random.Next(3))
        {
            case 0:
                random.NextBytes(bytes);
                break;
            case 1:
                bytes[random.Next(bytes.Length)..].Fill((byte)random.Next(256));
                break;
            default:
                for (int flips = random.Next(1, 4); flips > 0; flips--)
                    bytes[random.Next(bytes.Length)] ^= (byte)(1 << random.Next(8));
                break;
        }
    }

    private static void ChangeHeader(Span<byte> batch, Random random)
    {
        switch (random.Next(5))
        {
            case 0:
                int count = random.Next(1, 1_000);
                BinaryPrimitives.WriteInt32BigEndian(batch[RecordBatchLayout.LastOffsetDelta..], count - 1);
                BinaryPrimitives.WriteInt32BigEndian(batch[RecordBatchLayout.RecordsCount..], count);
                break;
            case 1:
                BinaryPrimitives.WriteInt64BigEndian(batch[RecordBatchLayout.BaseTimestamp..], random.NextInt64());
                break;
            case 2:
                BinaryPrimitives.WriteInt64BigEndian(batch[RecordBatchLayout.MaxTimestamp..], -random.NextInt64());
                break;
            case 3:
                batch[RecordBatchLayout.Attributes + 1] = (byte)random.Next(16);
                break;
            default:
                BinaryPrimitives.WriteInt32BigEndian(batch[RecordBatchLayout.RecordsCount..], random.Next(40));
                break;
        }
    }
}
