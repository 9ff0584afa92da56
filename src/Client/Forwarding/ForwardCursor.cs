namespace EQueue.Client;

/// <summary>One queue of the source: how far it was sent, and how far the target has it without a gap.</summary>
/// <param name="first">Offset of the first message that is sent.</param>
internal sealed class ForwardCursor(long first)
{
    private readonly Lock _gate = new();
    private readonly Queue<ForwardSpan> _spans = new();
    private long _reached = first;

    /// <summary>Offset behind what was sent. Belongs to the thread that sends.</summary>
    public long End { get; set; } = first;

    /// <summary>Takes in a span before the first of its messages leaves.</summary>
    public void Add(ForwardSpan span)
    {
        lock (_gate)
            _spans.Enqueue(span);
    }

    /// <returns>Offset before which the target has everything, and whether nothing is under way.</returns>
    public (long Reached, bool IsAtRest) Look()
    {
        lock (_gate)
        {
            while (_spans.TryPeek(out ForwardSpan? span) && span.IsDone)
            {
                _reached = span.Next;
                _spans.Dequeue();
            }

            return (_reached, _spans.Count == 0);
        }
    }
}
