using System.Diagnostics;
using EQueue.Protocol;

namespace EQueue.MessageStore;

/// <summary>How far a look-up by key has come in the entries of its queue.</summary>
/// <remarks>Used by one piece of work at a time, each on whichever disk thread takes it.</remarks>
/// <param name="question">What is asked for.</param>
/// <param name="from">The first offset to look at.</param>
/// <param name="to">The offset to end before.</param>
internal sealed class KeySearch(in KeyQuestion question, long from, long to)
{
    /// <summary>The most bytes of one decompressed batch: a few bytes can claim to be any number of them.</summary>
    internal const int MaxPlainBytes = 64 << 20;

    private readonly ReadOnlyMemory<byte> _key = question.Key;
    private readonly int _maxCount = question.MaxCount;
    private readonly long _maxBytes = question.MaxBytes;

    public QueueId Queue { get; } = question.Queue;

    public long To { get; } = to;

    /// <summary>Everything before it was looked at.</summary>
    public long Next { get; private set; } = from;

    public List<QueueOffset> Found { get; } = [];

    public long ReadBytes { get; private set; }

    public long UnreadableCount { get; private set; }

    public long BytesLeft => _maxBytes - ReadBytes;

    public bool IsOver => Next >= To || Found.Count >= _maxCount || BytesLeft <= 0;

    /// <summary>The key as filters know it.</summary>
    public ulong Hash { get; } = KeyFilter.HashOf(question.Key.Span);

    /// <summary>Up to here the filters were asked, and the entries must be looked at.</summary>
    public long KnownTo { get; set; }

    /// <summary>Nothing that matches lies before this offset.</summary>
    public void Pass(long next) => Next = Math.Max(Next, Math.Min(next, To));

    /// <summary>What lies before this offset is unknown.</summary>
    public void PassUnreadable(long next)
    {
        long before = Next;
        Pass(next);
        UnreadableCount += Next - before;
    }

    /// <summary>Looks at whole entries, checked, back to back.</summary>
    /// <param name="entries">Some of the queue, the first one holds <see cref="Next"/>.</param>
    public void LookAt(ReadOnlyMemory<byte> entries)
    {
        while (!entries.IsEmpty && !IsOver)
        {
            var header = EntryHeader.Read(entries.Span);
            ReadBytes += header.Size;
            LookAtBatch(entries[header.HeaderLength..header.Size]);
            entries = entries[header.Size..];
        }
    }

    private void LookAtBatch(ReadOnlyMemory<byte> batch)
    {
        RecordBatch.TryReadHeader(batch.Span, out RecordBatchHeader header, out ErrorCode broken);
        Debug.Assert(broken == ErrorCode.None, "the read has checked the batch");
        (long baseOffset, long end) = (header.BaseOffset.Value, header.NextOffset.Value);
        bool isCompressed = header.Codec != RecordCodec.None;
        if (RecordBatch.Decompress(batch, MaxPlainBytes, out ReadOnlyMemory<byte> plain) != ErrorCode.None)
        {
            PassUnreadable(end);
            return;
        }
        if (isCompressed)
            ReadBytes += plain.Length;

        var records = new RecordReader(plain.Span);
        while (records.TryRead(out RecordView record))
        {
            long offset = baseOffset + record.OffsetDelta;
            if (offset >= To)
                break;
            if (offset < Next)
                continue;
            Next = offset + 1;
            if (record.HasKey && record.Key.SequenceEqual(_key.Span))
            {
                Found.Add(new QueueOffset(offset));
                if (Found.Count == _maxCount)
                    return;
            }
        }
        if (records.Error == ErrorCode.None)
            Pass(end);
        else
            PassUnreadable(end);
    }
}
