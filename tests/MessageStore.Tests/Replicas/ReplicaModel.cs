using System.Buffers.Binary;
using EQueue.Protocol;

namespace EQueue.MessageStore.Tests;

/// <summary>What the bytes of a log say, read by a second reader: queues with their messages, and the state
/// machine.</summary>
internal sealed class ReplicaModel
{
    private readonly MemoryState _state = new();

    public Dictionary<uint, QueueModel> Queues { get; } = [];

    public string State => _state.ToString();

    public static ReplicaModel Of(byte[] log)
    {
        var model = new ReplicaModel();
        for (int position = 0; position < log.Length;)
        {
            var header = EntryHeader.Read(log.AsSpan(position));
            Assert.Equal(position, header.Position.Value);
            byte[] batch = log[(position + header.HeaderLength)..(position + header.Size)];
            if (header.Kind == EntryKind.State)
                model.Apply(batch);
            else if (header.Kind == EntryKind.Messages && model.Queues.TryGetValue(header.Queue.Value, out QueueModel? queue))
                queue.Add(batch);
            position += header.Size;
        }

        return model;
    }

    private void Apply(byte[] batch)
    {
        var records = new StateBatchReader(batch);
        while (records.TryRead(out StateRecord record))
        {
            switch (record.Kind)
            {
                case LogState.QueueOpened:
                    Queues.TryAdd(BinaryPrimitives.ReadUInt32LittleEndian(record.Key), new QueueModel());
                    break;
                case LogState.QueueRemoved:
                    Queues.Remove(BinaryPrimitives.ReadUInt32LittleEndian(record.Key));
                    break;
                case LogState.QueueStart:
                    if (Queues.TryGetValue(BinaryPrimitives.ReadUInt32LittleEndian(record.Key), out QueueModel? queue))
                        queue.Start = Math.Max(queue.Start, BinaryPrimitives.ReadInt64LittleEndian(record.Value));
                    break;
                case >= StateRecord.FirstMachineKind:
                    _state.Apply(record);
                    break;
            }
        }
    }

    /// <summary>A queue.</summary>
    public sealed class QueueModel
    {
        public List<(long Offset, byte[] Bytes)> Batches { get; } = [];

        public long Start { get; set; }

        public long End { get; private set; }

        public void Add(byte[] batch)
        {
            Assert.True(RecordBatch.TryReadHeader(batch, out RecordBatchHeader header, out _));
            Batches.Add((header.BaseOffset.Value, batch));
            End = header.NextOffset.Value;
        }
    }
}
