namespace EQueue.Client;

/// <summary>The queues of a topic, each once, from one of them on; for <c>foreach</c>, without an allocation.</summary>
/// <param name="queues">By number.</param>
/// <param name="first">The index of the first; may have outlived a change of their number.</param>
internal struct QueueTurns(QueueLane[] queues, int first)
{
    private int _step = -1;

    public readonly QueueLane Current => queues[QueueSelector.Wrap(first + _step, queues.Length)];

    public readonly QueueTurns GetEnumerator() => this;

    public bool MoveNext() => ++_step < queues.Length;
}
