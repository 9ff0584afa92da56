using EQueue.Protocol;

namespace EQueue.Micro;

/// <summary>Seeded input, the same in every run.</summary>
internal static class Sample
{
    public static byte[] Bytes(int size)
    {
        byte[] bytes = new byte[size];
        new Random(7).NextBytes(bytes);
        return bytes;
    }

    public static byte[] Batch(int records, RecordContent record)
    {
        int recordSize = (int)RecordBatchBuilder.SizeOf(record, records, 0);
        byte[] buffer = new byte[RecordBatchLayout.HeaderSize + (records * recordSize)];
        var builder = new RecordBatchBuilder();
        builder.Reset(buffer, 0);
        for (int i = 0; i < records; i++)
            builder.TryAppend(record, 0);
        return buffer[..builder.Complete(ProducerSession.None, -1)];
    }
}
