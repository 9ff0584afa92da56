namespace EQueue.MessageStore.Tests;

/// <summary>An answer that is awaited: it vouches for the entries before <see cref="EndIndex"/>.</summary>
/// <param name="Task">Completes with the answer.</param>
/// <param name="IsDurable">Whether the answer means durable rather than written.</param>
/// <param name="EndIndex">After the last entry that it is about.</param>
internal sealed record Pending(Task Task, bool IsDurable, int EndIndex)
{
    /// <summary>What the answer tells besides, when it comes.</summary>
    public Action? Learn { get; init; }

    /// <summary>The waiter behind the task, if the test made one.</summary>
    public TestWaiter? Waiter { get; init; }
}

/// <summary>A watch that the store has taken.</summary>
internal sealed record Watching(QueueId Queue, long From, TestSignal Signal);
