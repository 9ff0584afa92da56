namespace EQueue.MessageStore;

/// <summary>Is told once when an append request has reached its level. Reusable after that; linked into the store's
/// lists meanwhile.</summary>
public abstract class AppendWaiter
{
    /// <summary>The next waiter of the store's list.</summary>
    internal AppendWaiter? Next { get; set; }

    /// <summary>The position that the watermark must reach.</summary>
    internal long Target { get; set; }

    /// <summary>Called on a thread of the store, or of an appender that may write: must not block, must not do I/O,
    /// must not call back into the store's append.</summary>
    /// <param name="fault"><see langword="null"/>, or why the level will never be reached: whether the batches
    /// survive is unknown.</param>
    protected internal abstract void OnCompleted(Exception? fault);
}
