using System.Buffers;
using System.Buffers.Binary;
using EQueue.Load.Consuming;
using EQueue.Load.Measuring;
using EQueue.MessageStore;
using EQueue.Protocol;

namespace EQueue.Load.Scenarios;

/// <summary>Reads every queue of a store from its first offset to its end.</summary>
internal static class StoreReadBack
{
    /// <summary>What the store puts before each batch; docs/storage-format.md.</summary>
    public const int EntryHeaderBytes = 48;

    private const int HeaderLengthAt = 33;
    private const int ReadBytes = 4 << 20;

    /// <param name="queues">In the order in which the observer counts them.</param>
    /// <param name="observe">Is given each batch.</param>
    /// <exception cref="LoadException">The store cannot give back what it says it holds.</exception>
    public static async Task RunAsync(
        QueueStore store, QueueId[] queues, Observer observe, CancellationToken cancellationToken)
    {
        var bytes = new ArrayBufferWriter<byte>(ReadBytes);
        for (int number = 0; number < queues.Length; number++)
        {
            if (!store.TryGetQueue(queues[number], out QueueView view))
                throw LoadException.WrongData($"wrong data: queue {number} is gone");
            for (QueueOffset from = view.Start; from < view.End;)
            {
                bytes.ResetWrittenCount();
                ReadResult result = store.Read(queues[number], from, ReadBytes, bytes);
                if (result.NeedsDisk)
                {
                    bytes.ResetWrittenCount();
                    result = await store.ReadFromDiskAsync(queues[number], from, ReadBytes, bytes, cancellationToken);
                }

                if (result.Error != ErrorCode.None || result.NextOffset <= from)
                    throw LoadException.WrongData($"wrong data: queue {number} at {from}: {result.Error}");
                ObserveEntries(number, bytes.WrittenSpan, observe);
                from = result.NextOffset;
            }
        }
    }

    private static void ObserveEntries(int queue, ReadOnlySpan<byte> entries, Observer observe)
    {
        while (!entries.IsEmpty)
        {
            int size = BinaryPrimitives.ReadInt32LittleEndian(entries);
            observe(queue, entries[entries[HeaderLengthAt]..size]);
            entries = entries[size..];
        }
    }
}

/// <summary>
/// Judges every batch that a store gives back: its CRC, its place behind its predecessor, and whether it is the one
/// that its producer appended there.
/// </summary>
/// <remarks>One thread. Counts are of messages.</remarks>
internal sealed class StoredBatchChecker
{
    private readonly Dictionary<uint, (int Producer, int Slot)> _known = [];
    private readonly BatchRing[] _rings;
    private readonly int _queueCount;

    /// <summary>By queue and producer: the number of the batch that should come next.</summary>
    private readonly long[,] _next;
    private readonly long[] _nextOffset;
    private long _duplicated;
    private long _reordered;
    private long _damaged;
    private long _seen;

    public StoredBatchChecker(BatchRing[] rings, int queueCount)
    {
        _rings = rings;
        _queueCount = queueCount;
        _next = new long[queueCount, rings.Length];
        _nextOffset = new long[queueCount];
        for (int queue = 0; queue < queueCount; queue++)
        {
            for (int producer = 0; producer < rings.Length; producer++)
                _next[queue, producer] = queue;
        }

        for (int producer = 0; producer < rings.Length; producer++)
        {
            for (int slot = 0; slot < rings[producer].Count; slot++)
                _known.Add(rings[producer].Crcs[slot], (producer, slot));
        }
    }

    /// <summary>Looks at one batch.</summary>
    /// <returns>False: none is sampled.</returns>
    public bool Observe(int queue, ReadOnlySpan<byte> batch)
    {
        if (RecordBatch.Check(batch, out RecordBatchHeader header) != ErrorCode.None
            || !_known.TryGetValue(header.Crc, out (int Producer, int Slot) origin))
        {
            _damaged += Math.Max(1, RecordBatch.TryReadHeader(batch, out header, out _) ? header.RecordsCount : 1);
            return false;
        }

        _seen += header.RecordsCount;
        if (header.BaseOffset.Value < _nextOffset[queue])
            Misplace(header, queue);
        else
            Place(header, queue, origin.Producer, origin.Slot);
        return false;
    }

    /// <param name="batches">That each producer had acknowledged.</param>
    public CheckResult Judge(IReadOnlyList<long> batches)
    {
        long sent = 0;
        for (int producer = 0; producer < batches.Count; producer++)
            sent += batches[producer] * _rings[producer].BatchMessages;
        long missing = sent + _duplicated - _seen - _damaged;
        return new CheckResult(Math.Max(0, missing), _duplicated, _reordered, _damaged + Math.Max(0, -missing));
    }

    private void Misplace(in RecordBatchHeader header, int queue)
    {
        if (header.NextOffset.Value == _nextOffset[queue])
            _duplicated += header.RecordsCount;
        else
            _reordered += header.RecordsCount;
    }

    /// <summary>A batch at or after the offset that is due: it must be one that its producer sent to this queue, next
    /// or, behind a gap that counts as missing, later.</summary>
    private void Place(in RecordBatchHeader header, int queue, int producer, int slot)
    {
        int ringLength = _rings[producer].Count;
        ref long next = ref _next[queue, producer];
        bool isGap = header.BaseOffset.Value > _nextOffset[queue];
        long number = next;
        for (int steps = 0; isGap && number % ringLength != slot && steps < ringLength; steps++)
            number += _queueCount;
        if (number % ringLength != slot)
        {
            _reordered += header.RecordsCount;
            return;
        }

        next = number + _queueCount;
        _nextOffset[queue] = header.NextOffset.Value;
    }
}
