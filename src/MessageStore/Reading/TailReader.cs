using System.Buffers;
using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>
/// Serves the newest bytes out of the log's ring: no system call, no lock. It copies first and then looks whether the
/// ring was overwritten meanwhile; only then the copy counts.
/// </summary>
internal sealed partial class TailReader(CommitLog log)
{
    private long _reads;

    /// <summary>Reads that were served from memory.</summary>
    public long Reads => Volatile.Read(ref _reads);

    /// <summary>What <see cref="QueueStore"/> promises of its reads from memory.</summary>
    public ReadResult Read(
        QueueId id, QueueOffset from, int maxBytes, uint tagMask, IBufferWriter<byte> destination)
    {
        if (!TryBegin(log, id, from, out Queue queue, out long visible, out ReadResult bounds))
            return bounds;
        if (!TryFindRun(queue, from.Value, out IndexRun? run, out long nextRunOffset))
            return bounds with { NeedsDisk = true };
        int count = run!.CountBefore(visible, run.Count);
        int first = run.IndexOf(from.Value, count);
        if (first == count)
            return bounds with { Error = ErrorCode.DamagedData, NextOffset = new QueueOffset(nextRunOffset) };
        if (!TagBits.IsEverything(tagMask))
            return ReadWanted(run, first, count, maxBytes, tagMask, destination, bounds);
        long size = run[first].Size;
        int last = first + 1;
        while (last < count && size + run[last].Size <= maxBytes)
            size += run[last++].Size;
        long firstPosition = run.PositionOf(first);
        if (!log.IsInMemory(firstPosition))
            return bounds with { NeedsDisk = true };
        Span<byte> bytes = destination.GetSpan((int)size)[..(int)size];
        Copy(run, first, last, bytes);
        if (!log.IsStillInMemory(firstPosition))
            return bounds with { NeedsDisk = true };
        destination.Advance(bytes.Length);
        _reads++;
        return bounds with { NextOffset = new QueueOffset(run.EndOffsetOf(last - 1)), Size = bytes.Length };
    }

    /// <summary>The checks that every read begins with.</summary>
    /// <returns>True when there is something to read; else <paramref name="bounds"/> is the answer.</returns>
    internal static bool TryBegin(
        CommitLog log, QueueId id, QueueOffset from, out Queue queue, out long visible, out ReadResult bounds)
    {
        visible = log.Visible;
        queue = log.State.Queues.FindVisible(id)!;
        if (queue is null)
        {
            bounds = new ReadResult(ErrorCode.UnknownQueue, default, default, default, 0, NeedsDisk: false);
            return false;
        }
        long start = queue.VisibleStart;
        long end = Math.Max(start, queue.VisibleEnd(visible));
        bounds = new ReadResult(
            ErrorCode.None, new QueueOffset(start), new QueueOffset(end), from, Size: 0, NeedsDisk: false);
        if (from.Value < start || from.Value > Math.Max(end, queue.NextOffset))
        {
            var nearest = new QueueOffset(Math.Clamp(from.Value, start, end));
            bounds = bounds with { Error = ErrorCode.OffsetOutOfRange, NextOffset = nearest };
            return false;
        }
        return from.Value < end;
    }

    /// <summary>The run in memory that an offset falls into, and where the one after it begins.</summary>
    internal static bool TryFindRun(Queue queue, long offset, out IndexRun? run, out long nextRunOffset)
    {
        nextRunOffset = queue.NextOffset;
        for (run = queue.Tail; run is not null && offset < run.FirstOffset; run = run.Previous)
            nextRunOffset = run.FirstOffset;
        return run is not null;
    }

    /// <summary>Copies entries; those that lie side by side in the log go in one piece.</summary>
    private void Copy(IndexRun run, int first, int last, Span<byte> bytes)
    {
        int done = 0;
        int index = first;
        while (index < last)
        {
            long position = run[index].Position;
            long end = position + run[index].Size;
            for (index++; index < last && run[index].Position == end; index++)
                end += run[index].Size;
            int size = (int)(end - position);
            log.Arena.Read(run.Segment.BasePosition + position, bytes.Slice(done, size));
            done += size;
        }
    }
}
