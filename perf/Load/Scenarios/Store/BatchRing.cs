using EQueue.Load.Measuring;
using EQueue.Protocol;

namespace EQueue.Load.Scenarios;

/// <summary>
/// One producer's batches, encoded before the run as the client encodes them, and appended over and over. Batch b goes
/// to queue b modulo the number of queues and is the ring's batch b modulo its length; the two lengths have no common
/// divisor, so that two neighbours of a queue are never the same bytes.
/// </summary>
internal sealed class BatchRing
{
    /// <summary>Bytes of records that the client gathers in one batch.</summary>
    private const int ClientBatchBytes = 128 * 1024;

    /// <summary>Bytes of a ring at most, all producers together: no more than a client's buffers hold.</summary>
    private const int MaxRingBytes = 32 << 20;

    private const int MaxBatches = 1021;
    private const int MinBatches = 5;
    private const long CreatedMs = 1_700_000_000_000;

    private readonly byte[][] _batches;

    public BatchRing(StoreOrder order, int producer)
    {
        byte[] body = new byte[order.Size];
        byte[] first = Encode(order, producer, 0, body);
        int length = Math.Clamp(MaxRingBytes / order.Producers / first.Length, MinBatches, MaxBatches);
        while (GreatestDivisor(length, order.Queues) != 1)
            length++;
        _batches = new byte[length][];
        Crcs = new uint[length];
        for (int i = 0; i < length; i++)
        {
            _batches[i] = i == 0 ? first : Encode(order, producer, i, body);
            Crcs[i] = ReadHeader(_batches[i]).Crc;
        }

        BatchMessages = ReadHeader(first).RecordsCount;
        BatchBytes = first.Length;
    }

    public int Count => _batches.Length;

    public int BatchMessages { get; }

    public int BatchBytes { get; }

    /// <summary>The CRC of each batch, which its place in the log does not change.</summary>
    public uint[] Crcs { get; }

    public ReadOnlyMemory<byte> Batch(long number) => _batches[number % _batches.Length];

    private static byte[] Encode(StoreOrder order, int producer, int number, byte[] body)
    {
        long one = RecordBatchBuilder.SizeOf(new RecordContent { Body = body }, 0, 0) + RecordBatchLayout.HeaderSize;
        byte[] buffer = new byte[order.OneInFlight ? one : Math.Max(one, ClientBatchBytes)];
        var builder = new RecordBatchBuilder();
        builder.Reset(buffer, CreatedMs);
        do
        {
            BodyBytes.Fill(body, order.Seed, producer, (number * ClientBatchBytes) + builder.RecordCount);
        }
        while (builder.TryAppend(body, CreatedMs) && !order.OneInFlight);
        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }

    private static RecordBatchHeader ReadHeader(byte[] batch) =>
        RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out ErrorCode error)
            ? header
            : throw LoadException.Failed($"the encoder made a batch that cannot be read: {error}");

    private static int GreatestDivisor(int a, int b)
    {
        while (b != 0)
            (a, b) = (b, a % b);
        return a;
    }
}
