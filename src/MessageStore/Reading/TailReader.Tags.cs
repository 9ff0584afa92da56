using System.Buffers;

namespace EQueue.MessageStore;

/// <content>Reads for a tag mask: what the mask leaves out is looked up in the index and not touched.</content>
internal sealed partial class TailReader
{
    /// <summary>Entries that one read may pass over: some ten microseconds of its caller's time.</summary>
    internal const int MaxPassed = 4096;

    private ReadResult ReadWanted(
        IndexRun run,
        int first,
        int count,
        int maxBytes,
        uint tagMask,
        IBufferWriter<byte> destination,
        in ReadResult bounds)
    {
        long size = 0;
        int passed = 0, firstWanted = count, end = first;
        for (; end < count; end++)
        {
            ref readonly IndexEntry entry = ref run[end];
            if ((entry.TagBits & tagMask) == 0)
            {
                if (passed++ == MaxPassed)
                    break;
                continue;
            }
            if (size > 0 && size + entry.Size > maxBytes)
                break;
            firstWanted = Math.Min(firstWanted, end);
            size += entry.Size;
        }
        var next = new QueueOffset(run.EndOffsetOf(end - 1));
        if (size == 0)
            return bounds with { NextOffset = next };
        long position = run.PositionOf(firstWanted);
        Span<byte> bytes = default;
        if (log.IsInMemory(position))
        {
            bytes = destination.GetSpan((int)size)[..(int)size];
            CopyWanted(run, firstWanted, end, tagMask, bytes);
        }
        if (!log.IsStillInMemory(position))
        {
            // What lies before it need not be looked at again.
            long wanted = Math.Max(bounds.NextOffset.Value, run.FirstOffsetOf(firstWanted));
            return bounds with { NeedsDisk = true, NextOffset = new QueueOffset(wanted) };
        }
        destination.Advance(bytes.Length);
        _reads++;
        return bounds with { NextOffset = next, Size = bytes.Length };
    }

    private void CopyWanted(IndexRun run, int first, int end, uint tagMask, Span<byte> bytes)
    {
        int done = 0;
        for (int index = first; index < end; index++)
        {
            ref readonly IndexEntry entry = ref run[index];
            if ((entry.TagBits & tagMask) != 0)
            {
                int size = (int)entry.Size;
                log.Arena.Read(run.Segment.BasePosition + entry.Position, bytes.Slice(done, size));
                done += size;
            }
        }
    }
}
