using System.Collections;

namespace EQueue.Client;

/// <summary>
/// Where the messages of one <c>SendBatchAsync</c> are: one receipt per message, in the order they were given.
/// </summary>
/// <remarks>Kept as runs of neighbours, so that a batch of thousands of messages costs a few entries.</remarks>
public sealed class BatchReceipt : IReadOnlyList<SendReceipt>
{
    /// <summary>Null when the messages are one run.</summary>
    private readonly Run[]? _runs;
    private SendReceipt _first;

    /// <summary>Of messages that are one run; where that is stored is told by <see cref="Complete"/>.</summary>
    internal BatchReceipt(int count) => Count = count;

    internal BatchReceipt(Run[] runs, int count)
        : this(count) => _runs = runs;

    /// <summary>Messages.</summary>
    public int Count { get; }

    /// <summary>The receipt of a message.</summary>
    public SendReceipt this[int index]
    {
        get
        {
            ArgumentOutOfRangeException.ThrowIfNegative(index);
            ArgumentOutOfRangeException.ThrowIfGreaterThanOrEqual(index, Count);
            if (_runs is null)
                return new Run(0, _first).At(index);
            int low = 0, high = _runs.Length - 1;
            while (low < high)
            {
                int middle = (low + high + 1) >>> 1;
                if (_runs[middle].FirstIndex <= index)
                    low = middle;
                else
                    high = middle - 1;
            }

            return _runs[low].At(index);
        }
    }

    /// <inheritdoc/>
    public IEnumerator<SendReceipt> GetEnumerator()
    {
        for (int i = 0; i < Count; i++)
            yield return this[i];
    }

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    /// <summary>The one run is stored.</summary>
    internal BatchReceipt Complete(in SendReceipt first)
    {
        _first = first;
        return this;
    }

    /// <summary>Neighbours in the call that are neighbours in a queue.</summary>
    internal readonly record struct Run(int FirstIndex, SendReceipt First)
    {
        public SendReceipt At(int index) =>
            First with { Offset = new QueueOffset(First.Offset.Value + index - FirstIndex) };
    }
}
