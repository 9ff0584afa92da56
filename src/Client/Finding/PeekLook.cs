using EQueue.Protocol;

namespace EQueue.Client;

/// <summary>What one look into a queue wants.</summary>
/// <param name="From">The first offset that is shown.</param>
/// <param name="MaxBytes">Of the entries; one larger is read all the same.</param>
internal readonly record struct PeekRequest(long From, int MaxBytes)
{
    /// <summary>The tag bits that batches have to meet; the visitor decides record by record.</summary>
    public uint TagMask { get; init; } = TagBits.Unknown;

    /// <summary>How long the broker waits for the first message; zero = it does not.</summary>
    public TimeSpan Wait { get; init; }
}

/// <summary>How a look into a queue went.</summary>
/// <param name="Next">Where to look on.</param>
/// <param name="Start">The queue's first offset.</param>
/// <param name="End">The offset behind its last visible message.</param>
/// <param name="Error">Why the last of <paramref name="Unreadable"/> are not readable; OffsetOutOfRange: there is no
/// such offset.</param>
/// <param name="Unreadable">What was passed over before <paramref name="Next"/>.</param>
internal readonly record struct PeekResult(
    long Next, long Start, long End, ErrorCode Error, IReadOnlyList<UnreadableRange> Unreadable)
{
    /// <summary>Whether the visitor wanted no more.</summary>
    public bool IsStopped { get; init; }

    /// <summary>Offsets that were passed over.</summary>
    public long UnreadableCount => Unreadable.Sum(static range => range.To - range.From);
}

/// <summary>Offsets that are damaged, or in a batch that cannot be decompressed.</summary>
/// <param name="From">The first of them.</param>
/// <param name="To">The offset behind the last of them.</param>
/// <param name="Error">Why.</param>
internal readonly record struct UnreadableRange(long From, long To, ErrorCode Error);

/// <summary>Goes through the entries of one answer, record by record.</summary>
/// <remarks>Used by one flow at a time, for one answer.</remarks>
/// <param name="from">The first offset that is shown.</param>
/// <param name="answerEnd">The offset behind what the answer covers.</param>
/// <param name="mostPlainBytes">The most bytes of a batch that is decompressed.</param>
/// <param name="visit">Called for each record until it says no.</param>
internal sealed class PeekLook(long from, long answerEnd, int mostPlainBytes, RecordVisitor visit)
{
    private readonly List<UnreadableRange> _unreadable = [];

    /// <summary>The offset behind what was shown or passed over.</summary>
    public long Next { get; private set; } = from;

    /// <summary>Whether the visitor wanted no more.</summary>
    public bool IsStopped { get; private set; }

    public IReadOnlyList<UnreadableRange> Unreadable => _unreadable;

    public ErrorCode LastError => _unreadable.Count == 0 ? ErrorCode.None : _unreadable[^1].Error;

    /// <summary>Shows the records of entries.</summary>
    public void Show(ReadOnlyMemory<byte> entries)
    {
        while (!IsStopped && EntryView.TryRead(entries.Span, out EntryView entry))
        {
            ReadOnlyMemory<byte> batch = entries[entry.HeaderSize..entry.Size];
            entries = entries[entry.Size..];
            if (entry.Kind != EntryView.MessagesKind)
                continue;
            if (!RecordBatch.TryReadHeader(batch.Span, out RecordBatchHeader header, out _)
                || header.TotalSize != batch.Length)
            {
                // How many it has is not known: what the answer covers is passed over.
                PassOver(ErrorCode.CorruptBatch);
                return;
            }

            ShowBatch(batch, header, entry.StoredTimeMs);
        }
    }

    /// <summary>Passes over the rest of what the answer covers.</summary>
    public void PassOver(ErrorCode error) => PassOver(Math.Max(answerEnd, Next + 1), error);

    private void ShowBatch(ReadOnlyMemory<byte> batch, in RecordBatchHeader header, long storedTimeMs)
    {
        (long first, long end) = (header.BaseOffset.Value, header.NextOffset.Value);
        Next = Math.Max(first, Next);
        ReadOnlyMemory<byte> plain = default;
        ErrorCode error = RecordBatch.HasValidCrc(batch.Span)
            ? RecordBatch.Decompress(batch, mostPlainBytes, out plain)
            : ErrorCode.CorruptBatch;
        if (error == ErrorCode.None)
            error = ShowRecords(plain.Span, first, storedTimeMs);
        if (IsStopped)
            return;
        if (error == ErrorCode.None)
            Next = Math.Max(Next, end);
        else
            PassOver(end, error);
    }

    private ErrorCode ShowRecords(ReadOnlySpan<byte> batch, long baseOffset, long storedTimeMs)
    {
        var records = new RecordReader(batch);
        while (records.TryRead(out RecordView record))
        {
            long offset = baseOffset + record.OffsetDelta;
            if (offset < Next)
                continue;
            Next = offset;
            if (!visit(new QueueOffset(offset), storedTimeMs, record))
            {
                IsStopped = true;
                return ErrorCode.None;
            }

            Next = offset + 1;
        }

        return records.Error;
    }

    private void PassOver(long to, ErrorCode error)
    {
        if (to <= Next)
            return;
        _unreadable.Add(new UnreadableRange(Next, to, error));
        Next = to;
    }
}
