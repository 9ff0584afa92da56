using EQueue.Load.Measuring;
using EQueue.Protocol;

namespace EQueue.Load.Scenarios;

/// <summary>
/// Judges what a store of one producer still gives back: of each batch its CRC, its place, and whether it is the one
/// that was appended there; of each queue whether it is there from the batch of its first kept record to its end.
/// </summary>
/// <remarks>One thread. Counts are of messages. Batch b is in queue b modulo the number of queues, so that an offset
/// tells which batch must be there.</remarks>
internal sealed class KeptBatchChecker
{
    private readonly BatchRing _ring;
    private readonly long[] _next;
    private readonly long _expected;
    private long _seen;
    private long _duplicated;
    private long _reordered;
    private long _damaged;

    /// <param name="ring">Of the producer.</param>
    /// <param name="starts">By queue: the first record that must be there.</param>
    /// <param name="batches">That were acknowledged.</param>
    public KeptBatchChecker(BatchRing ring, long[] starts, long batches)
    {
        _ring = ring;
        _next = [.. starts.Select(start => start - (start % ring.BatchMessages))];
        for (int queue = 0; queue < starts.Length; queue++)
            _expected += EndOf(queue, starts.Length, batches, ring) - _next[queue];
    }

    /// <summary>Bytes of the entries seen.</summary>
    public long EntryBytes { get; private set; }

    /// <summary>The offset behind the last record of a queue.</summary>
    public static long EndOf(int queue, int queueCount, long batches, BatchRing ring) =>
        (batches - queue + queueCount - 1) / queueCount * ring.BatchMessages;

    /// <summary>Looks at one batch.</summary>
    /// <returns>False: none is sampled.</returns>
    public bool Observe(int queue, ReadOnlySpan<byte> batch)
    {
        EntryBytes += batch.Length + StoreReadBack.EntryHeaderBytes;
        if (RecordBatch.Check(batch, out RecordBatchHeader header) != ErrorCode.None || !IsTheOneAppended(header, queue))
        {
            _damaged += _ring.BatchMessages;
            return false;
        }

        _seen += header.RecordsCount;
        if (header.BaseOffset.Value >= _next[queue])
            _next[queue] = header.NextOffset.Value;
        else if (header.NextOffset.Value == _next[queue])
            _duplicated += header.RecordsCount;
        else
            _reordered += header.RecordsCount;
        return false;
    }

    public CheckResult Judge()
    {
        long missing = _expected + _duplicated - _seen - _damaged;
        return new CheckResult(Math.Max(0, missing), _duplicated, _reordered, _damaged + Math.Max(0, -missing));
    }

    private bool IsTheOneAppended(in RecordBatchHeader header, int queue)
    {
        (long turn, long rest) = Math.DivRem(header.BaseOffset.Value, _ring.BatchMessages);
        long number = (turn * _next.Length) + queue;
        return rest == 0 && header.RecordsCount == _ring.BatchMessages
            && header.Crc == _ring.Crcs[number % _ring.Count];
    }
}
