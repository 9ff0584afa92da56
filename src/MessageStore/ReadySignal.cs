namespace EQueue.MessageStore;

/// <summary>Is told when a watched queue has something new to read. One signal may watch many queues.</summary>
public abstract class ReadySignal
{
    /// <summary>Called once per watch, on a thread of the store, or of an appender that writes: must not block, must
    /// not do I/O. What it leaves to be done is not to be waited for on that thread.</summary>
    protected internal abstract void OnReady(QueueId queue);
}
