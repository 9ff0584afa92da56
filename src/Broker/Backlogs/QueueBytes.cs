namespace EQueue.Broker;

/// <summary>How many bytes of a queue lie before an offset, without asking the store.</summary>
/// <remarks>
/// Marks of (offset behind a batch, bytes up to there). The newest quarter is kept batch by batch; of the older ones
/// those go that leave a gap which is small beside what lies behind it. So the answer is exact near the end, and
/// further back rounded down by a share of the bytes behind it, however many batches there are: all of them at the
/// fewest marks, a hundredth at 4,096.
/// Not thread-safe.
/// </remarks>
/// <param name="maxMarks">64 or more; each takes 16 bytes.</param>
internal sealed class QueueBytes(int maxMarks)
{
    private readonly List<Mark> _marks = [];

    /// <summary>Bytes before the first mark.</summary>
    public long Base { get; private set; }

    /// <summary>Bytes of all batches that were added.</summary>
    public long Total { get; private set; }

    public int MarkCount => _marks.Count;

    /// <summary>Adds a batch; they may come slightly out of order.</summary>
    /// <param name="end">The offset behind it.</param>
    /// <param name="bytes">Its size.</param>
    public void Add(long end, long bytes)
    {
        Total += bytes;
        int index = _marks.Count;
        while (index > 0 && _marks[index - 1].End > end)
        {
            index--;
            _marks[index] = _marks[index] with { Bytes = _marks[index].Bytes + bytes };
        }

        _marks.Insert(index, new Mark(end, (index == 0 ? Base : _marks[index - 1].Bytes) + bytes));
        if (_marks.Count > maxMarks)
            Thin();
    }

    /// <summary>Bytes of the batches that end at or before an offset.</summary>
    public long Before(long offset)
    {
        int first = 0;
        int last = _marks.Count;
        while (first < last)
        {
            int middle = (first + last) >>> 1;
            if (_marks[middle].End <= offset)
                first = middle + 1;
            else
                last = middle;
        }

        return first == 0 ? Base : _marks[first - 1].Bytes;
    }

    /// <summary>The smallest known offset behind which at most <paramref name="bytes"/> bytes lie.</summary>
    public long FindEnd(long bytes)
    {
        foreach (Mark mark in _marks)
        {
            if (Total - mark.Bytes <= bytes)
                return mark.End;
        }

        return long.MaxValue;
    }

    /// <summary>Forgets the marks before a start that will not move back.</summary>
    /// <returns>The bytes that lie before it, as far as they did not before the last one.</returns>
    public long CutBefore(long start)
    {
        int count = 0;
        while (count < _marks.Count && _marks[count].End <= start)
            count++;
        if (count == 0)
            return 0;
        long before = Base;
        Base = _marks[count - 1].Bytes;
        _marks.RemoveRange(0, count);
        return Base - before;
    }

    private void Thin()
    {
        for (long part = maxMarks / 8; _marks.Count > maxMarks / 4 * 3; part /= 2)
            Thin(part);
    }

    /// <summary>Lets marks go whose gap is no more than a part of what lies behind it.</summary>
    private void Thin(long part)
    {
        int older = _marks.Count - (maxMarks / 4);
        int kept = 0;
        long from = Base;
        for (int i = 0; i < older; i++)
        {
            long next = _marks[i + 1].Bytes;
            if (part > 0 ? (next - from) > (Total - next) / part : i % 2 == 1)
            {
                _marks[kept++] = _marks[i];
                from = _marks[i].Bytes;
            }
        }

        _marks.RemoveRange(kept, older - kept);
    }

    private readonly record struct Mark(long End, long Bytes);
}
