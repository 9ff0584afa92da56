namespace EQueue.Client;

/// <summary>Messages of one stored batch on their way to the target: done when all of them are acknowledged.</summary>
/// <param name="window">Counts it from its opening until all of it is settled.</param>
/// <param name="queue">Its queue of the source.</param>
/// <param name="first">Offset there from which on its messages are.</param>
/// <param name="costBytes">What the window counts it for.</param>
/// <remarks>
/// Opened and closed by the thread that sends; settled by the target's answers, on whatever thread they come. One
/// counter tells when both are over: each answer takes one off, and closing adds what was sent.
/// </remarks>
internal sealed class ForwardSpan(ForwardWindow window, int queue, long first, long costBytes)
{
    /// <summary>Told what became of a message; its state is the span.</summary>
    public static readonly SendCallback Settled = static (span, _, error) => ((ForwardSpan)span!).Settle(error);

    private int _unsettled;
    private volatile bool _hasFailed;
    private volatile bool _isDone;

    /// <summary>What the window counts it for, in bytes.</summary>
    public long CostBytes { get; } = costBytes;

    /// <summary>Offset behind the span in its queue of the source; known once it is closed.</summary>
    public long Next { get; private set; }

    /// <summary>Messages sent; known once it is closed.</summary>
    public int Count { get; private set; }

    /// <summary>Bytes of their bodies; known once it is closed.</summary>
    public long BodyBytes { get; private set; }

    /// <summary>Whether the target has acknowledged all of it.</summary>
    public bool IsDone => _isDone;

    /// <summary>Nothing more of it is sent.</summary>
    public void Close(long next, int count, long bodyBytes)
    {
        (Next, Count, BodyBytes) = (next, count, bodyBytes);
        if (Interlocked.Add(ref _unsettled, count) == 0)
            Complete();
    }

    /// <summary>A message of it could not be sent, or was not stored: the span is never done.</summary>
    public void Fail(EQueueException error)
    {
        _hasFailed = true;
        window.Fail(new EQueueException(
            error.Code,
            $"Messages of queue {queue} from offset {first} on were not forwarded: {error.Message}",
            error));
    }

    private void Settle(EQueueException? error)
    {
        if (error is not null)
            Fail(error);
        if (Interlocked.Decrement(ref _unsettled) == 0)
            Complete();
    }

    private void Complete()
    {
        _isDone = !_hasFailed;
        window.Remove(this);
    }
}
