using EQueue.Protocol;
using EQueue.Remoting;

namespace EQueue.Server.Http;

/// <summary>Messages of a request that go to one queue as one batch.</summary>
internal sealed class PlannedBatch(QueueRoute route, long mostBytes)
{
    /// <summary>Room that the builder wants behind what it writes.</summary>
    private const int Overhang = 64;

    private long _size = RecordBatchLayout.HeaderSize;

    public QueueRoute Route => route;

    public List<OutgoingRecord> Records { get; } = [];

    /// <summary>Takes a message unless the batch would be too large with it.</summary>
    public bool TryAdd(OutgoingRecord record)
    {
        long size = _size + RecordBatchBuilder.SizeOf(record.Content, Records.Count, 0);
        if (size > mostBytes)
            return false;
        _size = size;
        Records.Add(record);
        return true;
    }

    /// <summary>The produce request that carries this batch alone; the caller's to send or to dispose.</summary>
    public FrameBuffer ToRequest(Durability durability, int deadlineMs, long nowMs)
    {
        byte[] bytes = new byte[_size + Overhang];
        var builder = new RecordBatchBuilder();
        builder.Reset(bytes, nowMs);
        foreach (OutgoingRecord record in Records)
        {
            if (!builder.TryAppend(record.Content, nowMs))
                throw new InvalidOperationException($"A batch of {_size} bytes was counted too small.");
        }

        int size = builder.Complete(ProducerSession.None, baseSequence: -1);
        var frame = FrameBuffer.Rent(ProduceRequestHeader.Size + ProduceBatchHeader.Size + size);
        new ProduceRequestHeader(durability, deadlineMs, TransactionId: 0, BatchCount: 1)
            .Write(frame.Reserve(ProduceRequestHeader.Size));
        new ProduceBatchHeader(route.Id, route.Log, route.Epoch, builder.TagBits, size)
            .Write(frame.Reserve(ProduceBatchHeader.Size));
        bytes.AsSpan(0, size).CopyTo(frame.Reserve(size));
        return frame;
    }
}
